-- Cancels a job that waits: O(level).
--
-- KEYS  1 jobs (list)  2 meter (hash)  3 tally (hash)  4 outcomes (hash)  5 ended (zset)  6 holders (hash)
-- ARGV  1 id  2 ms to keep outcomes  3 the most outcomes
-- Result  'cancelled' | 'elsewhere': in flight, ended or unknown
local keys = { meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[4], ended = KEYS[5], holders = KEYS[6] }
local JOBS, id = KEYS[1], ARGV[1]

local start = '{"id":"' .. id .. '",'
local element = look_through(JOBS, function(element)
  return string.sub(element, 1, #start) == start and element
end)
if not element then return 'elsewhere' end
redis.call('LREM', JOBS, -1, element)
local entry = entry_of(JOBS, element)
local caller = caller_of(entry)
record(keys, id, outcome_of('cancelled', nil, 0, caller), 'cancelled', counted_bytes(entry), caller)
departed(keys, 1)
forget_outcomes(keys, tonumber(ARGV[2]), tonumber(ARGV[3]))
return 'cancelled'
