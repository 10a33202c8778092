-- Examines outcomes, each at one moment, and when asked to lists those that aren't in the order in which jobs ended, and takes
-- off it those that aren't there.
--
-- KEYS  1 outcomes (hash)  2 ended (zset)
-- ARGV  1 '1' to repair, then the ids of jobs
-- Result  { how many were looked at, a job's id… }
local OUTCOMES, ENDED = KEYS[1], KEYS[2]
local mend = ARGV[1] == '1'

local answer = { 0 }
for i = 2, #ARGV do
  local id = ARGV[i]
  if not may_read() then break end
  answer[1] = answer[1] + 1
  local listed = redis.call('ZSCORE', ENDED, id)
  local is_recorded = redis.call('HEXISTS', OUTCOMES, id) == 1
  if is_recorded and not listed then
    answer[#answer + 1] = id
    if mend then
      local outcome = redis.call('HGET', OUTCOMES, id)
      count_read(outcome)
      -- What says no time is the first to be forgotten.
      redis.call('ZADD', ENDED, string.match(outcome, '^(%d+) ') or '0', id)
    end
  elseif listed and not is_recorded then
    answer[#answer + 1] = id
    if mend then redis.call('ZREM', ENDED, id) end
  end
end
return answer
