-- Examines idempotency keys that name jobs of a stream, each job at one moment, and lets the time of those begin whose jobs are
-- gone when asked to: it is kept as if its job had ended now.
--
-- KEYS  1 jobs (stream)  2 keyed jobs (hash)  3 key ends (zset)
-- ARGV  1 '1' to repair  2 ms for which a key is kept after its job's end, then the ids of jobs
-- Result  { how many were looked at, a job's id… }
local JOBS = KEYS[1]
local keys = { keyed_jobs = KEYS[2], key_ends = KEYS[3], keep = { keys_ms = tonumber(ARGV[2]) } }
local mend, FIRST = ARGV[1] == '1', 3

local answer = { 0 }
for i = FIRST, #ARGV do
  local id = ARGV[i]
  if not may_read() then break end
  answer[1] = answer[1] + 1
  if redis.call('HEXISTS', keys.keyed_jobs, id) == 1 and not is_there(JOBS, id) then
    answer[#answer + 1] = id
    if mend then end_key(keys, id) end
  end
end
return answer
