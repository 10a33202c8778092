-- List kind: adds a job at the head; what it returns is the job's id. nil for an entry that has no element in it. The
-- content in it has no first brace, unless it is a dead letter's.
-- needs: now, kind/entry
local function append(keys, entry)
  local content = field(entry, 'element')
  if not content then return nil end
  local head = { id = next_id(keys.tally), expires = tonumber(field(entry, 'expires')), deliveries = 0 }
  if string.sub(content, 1, 1) == '{' then content = string.sub(content, 2) end
  redis.call('LPUSH', keys.jobs, make_element(head, content))
  return head.id
end
