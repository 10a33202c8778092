-- Checks outcomes, each at one moment, and adds those missing from the list in order of time (ended) to it if asked to.
--
-- needs: at_maxmemory, budget, examine_each, order
-- KEYS  1 outcomes (hash)  2 ended (zset)
-- ARGV  1 '1' to repair, then the ids of jobs
-- Result  { number of ids checked, id of a job whose outcome isn't listed… }
local OUTCOMES, ENDED = KEYS[1], KEYS[2]
local is_repair, FIRST = ARGV[1] == '1', 2

return examine_each(FIRST, is_repair, function(id)
  local outcome = redis.call('HGET', OUTCOMES, id)
  if not outcome then return nil end
  count_read(outcome)
  -- An outcome without a time is the first to expire.
  local ms = string.match(outcome, '^(%d+) ') or '0'
  if listed_with(ENDED, ms, id) then return nil end
  return function() redis.call('ZADD', ENDED, ms, id) end
end)
