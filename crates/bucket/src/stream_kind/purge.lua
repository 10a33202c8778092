-- Cancels what waits or is parked, a bounded number at a time.
--
-- KEYS  1 jobs (stream)  2 meter (hash)  3 tally (hash)  4 outcomes (hash)  5 ended (zset)  6 holders (hash)
--       7 parked (zset)  8 attempts (hash)
-- ARGV  1 the last id that is still to be purged ('' at first: the last one there is now)  2 the most jobs in this call
--       3 ms to keep outcomes  4 the most outcomes
-- Result  { purged, the last id to be purged, or '' when all is done }
local keys = { meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[4], ended = KEYS[5], holders = KEYS[6] }
local JOBS, PARKED, ATTEMPTS = KEYS[1], KEYS[7], KEYS[8]
local most = tonumber(ARGV[2])

local newest = redis.call('XREVRANGE', JOBS, '+', '-', 'COUNT', 1)[1]
if not newest then return { 0, '' } end
local last = ARGV[1] ~= '' and ARGV[1] or newest[1]

local purged = 0
local function drop(id, entry)
  local failures = tonumber(redis.call('HGET', ATTEMPTS, id) or 0)
  redis.pcall('XACK', JOBS, 'processors', id)
  redis.call('XDEL', JOBS, id)
  redis.call('ZREM', PARKED, id)
  redis.call('HDEL', ATTEMPTS, id)
  local caller = caller_of(entry)
  record(keys, id, outcome_of('cancelled', 'purged', failures, caller), 'cancelled', counted_bytes(entry), caller)
  purged = purged + 1
end

for _, id in ipairs(redis.call('ZRANGE', PARKED, 0, most - 1)) do
  local found = redis.call('XRANGE', JOBS, id, id)[1]
  if found then drop(id, found[2]) else redis.call('ZREM', PARKED, id) end
end

-- What waits comes after what was last delivered; nothing behind that is pending.
local delivered = '-'
local groups = redis.pcall('XINFO', 'GROUPS', JOBS)
for _, group in ipairs(groups.err and {} or groups) do
  local info = {}
  for i = 1, #group, 2 do info[group[i]] = group[i + 1] end
  if info.name == 'processors' then delivered = '(' .. info['last-delivered-id'] end
end
local waiting = purged < most and redis.call('XRANGE', JOBS, delivered, last, 'COUNT', most - purged) or {}
for _, found in ipairs(waiting) do drop(found[1], found[2]) end

departed(keys, purged)
forget_outcomes(keys, tonumber(ARGV[3]), tonumber(ARGV[4]))
return { purged, purged < most and '' or last }
