-- Examines entries of the index of dead letters, each at one moment, and removes those of letters that are gone when
-- asked to.
--
-- needs: at_maxmemory, budget, each
-- KEYS  1 dead (stream)  2 letters (hash)
-- ARGV  1 '1' to repair, then the ids of jobs
-- Result  { how many were looked at, a job's id… }
local DEAD, LETTERS = KEYS[1], KEYS[2]
local mend, FIRST = ARGV[1] == '1', 2

return examine_each(FIRST, mend, function(id)
  local letter = redis.call('HGET', LETTERS, id)
  if not letter then return nil end
  -- No id of a stream is no letter.
  local entry = redis.pcall('XRANGE', DEAD, letter, letter)
  if not entry.err and entry[1] then
    count_read(entry[1][2])
    return nil
  end
  return function() redis.call('HDEL', LETTERS, id) end
end)
