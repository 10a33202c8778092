-- Checks the jobs of a stream that have idempotency keys, each at one moment. If asked to, starts the retention of keys
-- whose jobs are missing, as if these jobs had ended now.
--
-- needs: at_maxmemory, examine_each, is_there, keep_keys
-- KEYS  1 jobs (stream)  2 keyed jobs (hash)  3 key ends (zset)
-- ARGV  1 '1' to repair  2 ms for which a key is kept after its job has ended, then the ids of jobs
-- Result  { number of ids checked, id of a missing job… }
local JOBS = KEYS[1]
local is_repair, keys_ms, FIRST = ARGV[1] == '1', tonumber(ARGV[2]), 3
local keys = { keyed_jobs = KEYS[2], key_ends = KEYS[3], keys_ms = keys_ms }

return examine_each(FIRST, is_repair, function(id)
  if redis.call('HEXISTS', keys.keyed_jobs, id) == 0 or is_there(JOBS, id) then return nil end
  return function() end_key(keys, id) end
end)
