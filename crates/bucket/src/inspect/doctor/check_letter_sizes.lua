-- Checks sizes of dead letters, each at one moment, and removes those of missing letters if asked to.
--
-- needs: at_maxmemory, budget, examine_each
-- KEYS  1 dead (stream)  2 sizes (zset)
-- ARGV  1 '1' to repair, then members of the zset
-- Result  { number of members checked, a member whose letter is missing… }
local DEAD, SIZES = KEYS[1], KEYS[2]
local is_repair, FIRST = ARGV[1] == '1', 2

return examine_each(FIRST, is_repair, function(member)
  if not redis.call('ZSCORE', SIZES, member) then return nil end
  local letter = string.match(member, '^%S+')
  -- XRANGE fails if this isn't a valid id: then no such letter exists.
  local entry = redis.pcall('XRANGE', DEAD, letter, letter)
  if not entry.err and entry[1] then
    count_read(entry[1][2])
    return nil
  end
  return function() redis.call('ZREM', SIZES, member) end
end)
