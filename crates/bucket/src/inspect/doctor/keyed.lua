-- Examines idempotency keys that name jobs of a stream, each job at one moment, and lets the time of those begin whose
-- jobs are gone when asked to: it is kept as if its job had ended now.
--
-- needs: at_maxmemory, each, there, keep_keys
-- KEYS  1 jobs (stream)  2 keyed jobs (hash)  3 key ends (zset)
-- ARGV  1 '1' to repair  2 ms for which a key is kept after its job's end, then the ids of jobs
-- Result  { how many were looked at, a job's id… }
local JOBS = KEYS[1]
local mend, keys_ms, FIRST = ARGV[1] == '1', tonumber(ARGV[2]), 3
local keys = { keyed_jobs = KEYS[2], key_ends = KEYS[3], keys_ms = keys_ms }

return examine_each(FIRST, mend, function(id)
  if redis.call('HEXISTS', keys.keyed_jobs, id) == 0 or is_there(JOBS, id) then return nil end
  return function() end_key(keys, id) end
end)
