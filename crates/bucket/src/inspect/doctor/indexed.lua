-- Examines entries of the index of dead letters, each at one moment, and removes those of letters that are gone when asked to.
--
-- KEYS  1 dead (stream)  2 letters (hash)
-- ARGV  1 '1' to repair, then the ids of jobs
-- Result  { how many were looked at, a job's id… }
local DEAD, LETTERS = KEYS[1], KEYS[2]
local mend = ARGV[1] == '1'

local answer = { 0 }
for i = 2, #ARGV do
  if not may_read() then break end
  local id = ARGV[i]
  answer[1] = answer[1] + 1
  local letter = redis.call('HGET', LETTERS, id)
  if letter then
    -- No id of a stream is no letter.
    local entry = redis.pcall('XRANGE', DEAD, letter, letter)
    if not entry.err and entry[1] then
      count_read(entry[1][2])
    else
      answer[#answer + 1] = id
      if mend then redis.call('HDEL', LETTERS, id) end
    end
  end
end
return answer
