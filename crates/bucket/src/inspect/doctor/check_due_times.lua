-- Checks a part of the due times, each job at one moment, and removes those of jobs that aren't parked if asked to.
--
-- needs: at_maxmemory, constants, kind/pending
-- KEYS  1 jobs (stream)  2 parked (zset)
-- ARGV  1 the due time from which to begin  2 number of jobs with that time to skip  3 '1' to repair
-- Result  { the due time from which to go on or '' at the end, number of jobs with that time to skip, a job's id… }
local JOBS, PARKED = KEYS[1], KEYS[2]
local due, seen, is_repair = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
-- The maximum number of jobs in one call, so that many parked jobs don't block Redis.
local LOOKED_AT = 500

local parked = redis.call('ZRANGE', PARKED, due, '+inf', 'BYSCORE', 'LIMIT', seen, LOOKED_AT, 'WITHSCORES')
local answer = { '', 0 }
for i = 1, #parked, 2 do
  local id = parked[i]
  if parked[i + 1] ~= due then due, seen = parked[i + 1], 0 end
  seen = seen + 1
  if owner_of(JOBS, id) ~= PARKED_OWNER then
    answer[#answer + 1] = id
    if is_repair then
      redis.call('ZREM', PARKED, id)
      seen = seen - 1
    end
  end
end
if #parked == 2 * LOOKED_AT then answer[1], answer[2] = due, seen end
return answer
