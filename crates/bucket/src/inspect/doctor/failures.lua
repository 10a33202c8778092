-- Examines what a stream bucket keeps by job, each job at one moment, and removes that of jobs that are gone when asked to.
--
-- KEYS  1 jobs (stream)  2 attempts (hash) | unburied (hash)
-- ARGV  1 '1' to repair, then the ids of jobs
-- Result  { how many were looked at, a job's id… }
local JOBS, KEPT = KEYS[1], KEYS[2]
local mend = ARGV[1] == '1'

local answer = { 0 }
for i = 2, #ARGV do
  local id = ARGV[i]
  if not may_read() then break end
  answer[1] = answer[1] + 1
  if redis.call('HEXISTS', KEPT, id) == 1 and not owner_of(JOBS, id) and not is_there(JOBS, id) then
    answer[#answer + 1] = id
    if mend then redis.call('HDEL', KEPT, id) end
  end
end
return answer
