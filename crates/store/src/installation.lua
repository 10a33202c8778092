-- Reads the state of an installation, and creates it if Redis has none: a new one, or one whose Redis was emptied.
-- Stores the time of the read, `seen`: if a process has seen a later time than Redis has, writes were lost.
--
-- KEYS  1 state (hash)
-- ARGV  1 the layout that the caller writes  2 a salt, in case none exists  3 the latest `seen` of the caller, or 0
-- Result  { layout, salt, is_new, seen, back_to }; salt may be '' with another layout; is_new is 1 if Redis had no
-- state, else 0; seen is the time, in ms, that Redis has now; back_to is the one that it had before, if that is earlier
-- than that of the caller, else -1
local function state()
  return unpack(redis.call('HMGET', KEYS[1], 'layout', 'salt'))
end

local layout, salt = state()
local is_new = layout and 0 or 1
if not layout or layout == ARGV[1] and not salt then
  -- After a write that needs no memory, Redis executes the others also at maxmemory.
  redis.call('HDEL', KEYS[1], '')
  redis.call('HSETNX', KEYS[1], 'layout', ARGV[1])
  redis.call('HSETNX', KEYS[1], 'salt', ARGV[2])
  layout, salt = state()
end
if layout ~= ARGV[1] then return { layout, salt or '', is_new, 0, -1 } end

local before, known = tonumber(redis.call('HGET', KEYS[1], 'seen')) or 0, tonumber(ARGV[3])
local time = redis.call('TIME')
-- A clock that was set back shows no loss.
local seen = math.max(before, known, time[1] * 1000 + math.floor(time[2] / 1000))
-- As above, for maxmemory.
redis.pcall('HDEL', KEYS[1], '')
-- A server that refuses writes may be a replica that lags behind, so it shows no loss.
if type(redis.pcall('HSET', KEYS[1], 'seen', string.format('%.0f', seen))) ~= 'number' then
  return { layout, salt or '', is_new, math.max(before, known), -1 }
end
return { layout, salt or '', is_new, seen, before < known and before or -1 }
