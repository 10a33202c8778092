-- Cancels a job that waits or is parked.
--
-- KEYS  1 jobs (stream)  2 parked (zset)  3 meter (hash)  4 tally (hash)  5 attempts (hash)  6 outcomes (hash)  7 ended (zset)
-- ARGV  1 id  2 ms to keep outcomes  3 the most outcomes
-- Result  'cancelled' | 'in_flight' | 'absent'
local keys = { meter = KEYS[3], tally = KEYS[4], outcomes = KEYS[6], ended = KEYS[7] }
local JOBS, PARKED, ATTEMPTS = KEYS[1], KEYS[2], KEYS[5]
local id = ARGV[1]

local found = redis.call('XRANGE', JOBS, id, id)[1]
if not found then return 'absent' end
if not redis.call('ZSCORE', PARKED, id) then
  local pending = redis.pcall('XPENDING', JOBS, 'processors', id, id, 1)
  if not pending.err and #pending > 0 then return 'in_flight' end
end
local failures = tonumber(redis.call('HGET', ATTEMPTS, id) or 0)
redis.pcall('XACK', JOBS, 'processors', id)
redis.call('XDEL', JOBS, id)
redis.call('ZREM', PARKED, id)
redis.call('HDEL', ATTEMPTS, id)
record(keys, id, cjson.encode({ result = 'cancelled', attempts = failures }), 'cancelled', counted_bytes(found[2]))
departed(keys, 1)
forget_outcomes(keys, tonumber(ARGV[2]), tonumber(ARGV[3]))
return 'cancelled'
