-- Cancels a job that waits or is parked.
--
-- KEYS  1 jobs (stream)  2 meter (hash)  3 tally (hash)  4 outcomes (hash)  5 ended (zset)  6 parked (zset)  7 attempts (hash)
-- ARGV  1 id  2 ms to keep outcomes  3 the most outcomes
-- Result  'cancelled' | 'elsewhere': in flight, ended or unknown
local keys = { meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[4], ended = KEYS[5] }
local JOBS, PARKED, ATTEMPTS = KEYS[1], KEYS[6], KEYS[7]
local id = ARGV[1]

local found = redis.call('XRANGE', JOBS, id, id)[1]
if not found then return 'elsewhere' end
if not redis.call('ZSCORE', PARKED, id) then
  local pending = redis.pcall('XPENDING', JOBS, 'processors', id, id, 1)
  if not pending.err and #pending > 0 then return 'elsewhere' end
end
local failures = tonumber(redis.call('HGET', ATTEMPTS, id) or 0)
redis.pcall('XACK', JOBS, 'processors', id)
redis.call('XDEL', JOBS, id)
redis.call('ZREM', PARKED, id)
redis.call('HDEL', ATTEMPTS, id)
record(keys, id, outcome_of('cancelled', nil, failures, caller_of(found[2])), 'cancelled', counted_bytes(found[2]))
departed(keys, 1)
forget_outcomes(keys, tonumber(ARGV[2]), tonumber(ARGV[3]))
return 'cancelled'
