-- Checks a part of the dead letters, each at one moment, and adds those missing from the index to it if asked to.
--
-- needs: at_maxmemory, now, budget, behind, letters
-- KEYS  1 dead (stream)  2 letters (hash)  3 sizes (zset)
-- ARGV  1 where to begin, as XRANGE writes it  2 '1' to repair
-- Result  { the last letter that was checked or '' at the end,
--           { id of a letter, id of its job, '1' if it wasn't in the index, its bytes }… }
local keys = { dead = KEYS[1], letters = KEYS[2], sizes = KEYS[3] }
local from, is_repair = ARGV[1], ARGV[2] == '1'
-- The maximum number of letters in one call, so that many letters don't block Redis.
local LOOKED_AT = 500

local answer = { '' }
for _ = 1, LOOKED_AT do
  if not may_read() then return answer end
  local letter = entries_between(keys.dead, from, '+', 1)[1]
  if not letter then
    answer[1] = ''
    return answer
  end
  local bytes = count_read(letter[2])
  local id = field(letter[2], 'job') or letter[1]
  local indexed = redis.call('HGET', keys.letters, id) == letter[1]
    and redis.call('ZSCORE', keys.sizes, size_member(letter[1], bytes, id))
  if not indexed and is_repair then index_letter(keys, letter[1], bytes, id) end
  answer[1], from = letter[1], '(' .. letter[1]
  answer[#answer + 1] = { letter[1], id, indexed and '' or '1', bytes }
end
return answer
