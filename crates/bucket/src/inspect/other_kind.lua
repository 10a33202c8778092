-- What is under the key of the jobs, where another type was expected. An empty stream is deleted: it has no job, also
-- none in flight or parked, because these stay in it until they end; and its group is created with the next stream. An
-- empty list is no key.
--
-- KEYS  1 jobs
-- Result  { jobs in a stream, jobs in a list }, -1 where the key has another type
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
