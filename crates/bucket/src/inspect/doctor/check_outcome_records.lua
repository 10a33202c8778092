-- Finds jobs that are listed in order of time (ended) but have no outcome, those of each member at one moment, and
-- removes them from the list if asked to.
--
-- needs: at_maxmemory
-- KEYS  1 outcomes (hash)  2 ended (zset)
-- ARGV  1 '1' to repair  2 the rank of the first member  3 maximum number of members
-- Result  { number of members checked, id of a job without an outcome… }
local OUTCOMES, ENDED = KEYS[1], KEYS[2]
local is_repair, rank, members = ARGV[1] == '1', tonumber(ARGV[2]), tonumber(ARGV[3])

local found = redis.call('ZRANGE', ENDED, rank, rank + members - 1, 'WITHSCORES')
local answer = { #found / 2 }
for i = 1, #found, 2 do
  local member, ms, stay, before = found[i], found[i + 1], {}, #answer
  for id in string.gmatch(member, '%S+') do
    local list = redis.call('HEXISTS', OUTCOMES, id) == 1 and stay or answer
    list[#list + 1] = id
  end
  if is_repair and #answer > before then
    redis.call('ZREM', ENDED, member)
    if #stay > 0 then redis.call('ZADD', ENDED, ms, table.concat(stay, ' ')) end
  end
end
return answer
