-- Examines outcomes, each at one moment, and when asked to lists those that aren't in the order in which jobs ended,
-- and takes off it those that aren't there.
--
-- needs: at_maxmemory, budget, each
-- KEYS  1 outcomes (hash)  2 ended (zset)
-- ARGV  1 '1' to repair, then the ids of jobs
-- Result  { how many were looked at, a job's id… }
local OUTCOMES, ENDED = KEYS[1], KEYS[2]
local mend, FIRST = ARGV[1] == '1', 2

local function list(id)
  local outcome = redis.call('HGET', OUTCOMES, id)
  count_read(outcome)
  -- What says no time is the first to be forgotten.
  redis.call('ZADD', ENDED, string.match(outcome, '^(%d+) ') or '0', id)
end

return examine_each(FIRST, mend, function(id)
  local is_listed = redis.call('ZSCORE', ENDED, id)
  local is_recorded = redis.call('HEXISTS', OUTCOMES, id) == 1
  if is_recorded and not is_listed then return function() list(id) end end
  if is_listed and not is_recorded then return function() redis.call('ZREM', ENDED, id) end end
  return nil
end)
