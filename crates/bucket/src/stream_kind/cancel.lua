-- Cancels a job that waits or is parked.
--
-- KEYS  1 jobs (stream)  2 meter (hash)  3 tally (hash)  4 outcomes (hash)  5 ended (zset)  6 holders (hash)
--       7 parked (zset)  8 attempts (hash)
-- ARGV  1 id  2 ms to keep outcomes  3 the most outcomes
-- Result  'cancelled' | 'elsewhere': in flight, ended or unknown
local keys = { meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[4], ended = KEYS[5], holders = KEYS[6] }
local JOBS, PARKED, ATTEMPTS = KEYS[1], KEYS[7], KEYS[8]
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
local caller = caller_of(found[2])
record(keys, id, outcome_of('cancelled', nil, failures, caller), 'cancelled', counted_bytes(found[2]), caller)
departed(keys, 1)
forget_outcomes(keys, tonumber(ARGV[2]), tonumber(ARGV[3]))
return 'cancelled'
