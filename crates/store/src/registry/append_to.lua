-- Adds to a stream whose ids aren't used.

local LARGEST_ID = '18446744073709551615-18446744073709551615'

-- If somebody has added an entry with the largest possible id, Redis adds no more, even after the entry was deleted.
-- Then the stream is rewritten, with another id for this entry. This is cheap, as the streams have few and small
-- entries.
local function append_to(key, ...)
  local added = redis.pcall('XADD', key, ...)
  if type(added) == 'string' then return added end
  local MOST_FIELDS = 100
  if string.find(added.err, 'exhausted', 1, true) then
    local entries = redis.call('XRANGE', key, '-', '+')
    redis.call('DEL', key)
    for _, entry in ipairs(entries) do
      local id, fields = unpack(entry)
      redis.call('XADD', key, id == LARGEST_ID and '*' or id, unpack(fields, 1, math.min(#fields, 2 * MOST_FIELDS)))
    end
  end
  return redis.call('XADD', key, ...)
end
