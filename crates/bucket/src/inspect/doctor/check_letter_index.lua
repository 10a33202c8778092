-- Checks entries of the index of dead letters, each at one moment, and removes those of missing letters if asked to.
--
-- needs: at_maxmemory, budget, examine_each
-- KEYS  1 dead (stream)  2 letters (hash)
-- ARGV  1 '1' to repair, then the ids of jobs
-- Result  { number of ids checked, id of a job whose letter is missing… }
local DEAD, LETTERS = KEYS[1], KEYS[2]
local is_repair, FIRST = ARGV[1] == '1', 2

return examine_each(FIRST, is_repair, function(id)
  local letter = redis.call('HGET', LETTERS, id)
  if not letter then return nil end
  -- XRANGE fails if this isn't a valid id: then no such letter exists.
  local entry = redis.pcall('XRANGE', DEAD, letter, letter)
  if not entry.err and entry[1] then
    count_read(entry[1][2])
    return nil
  end
  return function() redis.call('HDEL', LETTERS, id) end
end)
