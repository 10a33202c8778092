-- Reads what an installation is, and writes it where Redis holds nothing of it: a new one, or one whose Redis was
-- emptied. Notes when it was read: a process that has seen a later time than Redis has knows that writes were lost.
--
-- KEYS  1 state (hash)
-- ARGV  1 the layout that the caller writes  2 a salt, for where none exists  3 the latest time that it has seen, or 0
-- Result  { layout, salt, is_new, seen, back_to }; the salt is '' beside another layout that has none; is_new is 1
-- where Redis had nothing of it, else 0; seen is the latest time, in ms, that Redis has now; back_to is the one before,
-- where that is earlier than what the caller has seen, else -1
local function state()
  return unpack(redis.call('HMGET', KEYS[1], 'layout', 'salt'))
end

local layout, salt = state()
local is_new = layout and 0 or 1
if not layout or layout == ARGV[1] and not salt then
  -- After a write that needs no memory the others are carried out also at maxmemory.
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
-- As above: also at maxmemory.
redis.pcall('HDEL', KEYS[1], '')
-- A server that refuses writes may be a replica that is behind, and not the one that is used next.
if type(redis.pcall('HSET', KEYS[1], 'seen', string.format('%.0f', seen))) ~= 'number' then
  return { layout, salt or '', is_new, math.max(before, known), -1 }
end
return { layout, salt or '', is_new, seen, before < known and before or -1 }
