-- List kind: removes jobs from the list, searching from the tail on after the first `stay`. As for a stream. Claimed
-- jobs are in other lists.
-- needs: kind/entry
local function withdraw_moved(jobs, ids, stay, record_end)
  local wanted = {}
  for _, id in ipairs(ids) do wanted[id] = true end
  local at, ended = stay, 0
  -- Enough, because the jobs were read from there on, and no replica takes from the list meanwhile.
  local LOOKED_AT = 500
  for _ = 1, LOOKED_AT do
    local element = ended < #ids and redis.call('LINDEX', jobs, -1 - at)
    if not element then break end
    local head = read_head(element)
    if head and wanted[head.id] then
      redis.call('LREM', jobs, -1, element)
      record_end(head.id, entry_of(jobs, element), 0, head.deliveries, head.throttled)
      ended = ended + 1
    else
      at = at + 1
    end
  end
  return ended
end

-- A list has no ranges.
local function write_ranges() end
