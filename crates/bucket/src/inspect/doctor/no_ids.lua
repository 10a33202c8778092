-- Counts the entries of streams to which Redis adds none, because somebody has added one with the largest possible id.
-- One that is empty is made again when something is to be added.
--
-- needs: at_maxmemory
-- KEYS  1 jobs (stream, or a list)  2 dead (stream)
-- Result  { jobs, dead letters }, each 0 where there are ids left
local function entries_without_ids(stream)
  local entries = redis.pcall('XLEN', stream)
  if type(entries) ~= 'number' or entries == 0 then return 0 end
  -- Refused in any case: all entries have later ids.
  local refused = redis.pcall('XADD', stream, 'NOMKSTREAM', '0-1', 'body', '')
  return string.find(refused.err, 'exhausted', 1, true) and entries or 0
end

return { entries_without_ids(KEYS[1]), entries_without_ids(KEYS[2]) }
