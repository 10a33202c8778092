-- Counts the entries of streams to which Redis adds no others, because somebody has added one with the largest possible
-- id. An empty stream isn't a problem: it is deleted and created again for the next entry.
--
-- needs: at_maxmemory
-- KEYS  1 jobs (stream, or a list)  2 dead (stream)
-- Result  { jobs, dead letters }, each 0 if the stream has ids left
local function entries_without_ids(stream)
  local entries = redis.pcall('XLEN', stream)
  if type(entries) ~= 'number' or entries == 0 then return 0 end
  -- This XADD always fails, because all entries have later ids. Its error shows whether the ids are exhausted.
  local refused = redis.pcall('XADD', stream, 'NOMKSTREAM', '0-1', 'body', '')
  return string.find(refused.err, 'exhausted', 1, true) and entries or 0
end

return { entries_without_ids(KEYS[1]), entries_without_ids(KEYS[2]) }
