-- Counts the jobs under the key of the jobs, which may have another type than expected. Deletes an empty stream: it has
-- no jobs in flight or parked, as these stay in it until they end, and its group is created again with the next stream.
-- An empty list doesn't exist in Redis.
--
-- KEYS  1 jobs
-- Result  { jobs in a stream, jobs in a list }, each -1 if the key has another type
local JOBS = KEYS[1]

local function count(command)
  local jobs = redis.pcall(command, JOBS)
  return type(jobs) == 'number' and jobs or -1
end

local in_stream, in_list = count('XLEN'), count('LLEN')
if in_stream == 0 and in_list == -1 then
  redis.call('DEL', JOBS)
  in_list = 0
end
return { in_stream, in_list }
