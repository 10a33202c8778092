-- Checks records that a stream bucket keeps by job, each job at one moment, and removes those of missing jobs if asked
-- to.
--
-- needs: at_maxmemory, examine_each, is_there, kind/pending
-- KEYS  1 jobs (stream)  2 attempts (hash) | unburied (hash) | failed (hash)
-- ARGV  1 '1' to repair, then the ids of jobs
-- Result  { number of ids checked, id of a missing job… }
local JOBS, KEPT = KEYS[1], KEYS[2]
local is_repair, FIRST = ARGV[1] == '1', 2

return examine_each(FIRST, is_repair, function(id)
  if redis.call('HEXISTS', KEPT, id) == 0 or owner_of(JOBS, id) or is_there(JOBS, id) then return nil end
  return function() redis.call('HDEL', KEPT, id) end
end)
