-- Returns the definitions that were changed since a version, a page of them; deleted ones by their names.
--
-- needs: now, budget
-- KEYS  1 definitions (hash)  2 changed (zset)  3 state (hash)
-- ARGV  1 the epoch that its caller knows ('': none)  2 the version that it knows (0: none)  3 the most to return
-- Result  { epoch, number of definitions, 1 where these begin with the first of all: what its caller knows is from
--         another time, else 0, 1 where more follow, else 0,
--           { bucket, version, definition ('': deleted) }… }
local DEFINITIONS, CHANGED, STATE = KEYS[1], KEYS[2], KEYS[3]
local known_epoch, known, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local state = redis.call('HMGET', STATE, 'epoch', 'version', 'forgotten')
local epoch, version, forgotten = state[1] or '', tonumber(state[2]) or 0, tonumber(state[3]) or 0
local is_from_start = epoch ~= known_epoch or known > version or known > 0 and known < forgotten
if is_from_start then known = 0 end
local changes = redis.call('ZRANGE', CHANGED, '(' .. whole(known), '+inf', 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
local page = { epoch, redis.call('HLEN', DEFINITIONS), is_from_start and 1 or 0, #changes == 2 * most and 1 or 0 }
for i = 1, #changes, 2 do
  if not may_read() then
    page[4] = 1
    break
  end
  local definition = redis.call('HGET', DEFINITIONS, changes[i]) or ''
  count_read(definition)
  page[#page + 1] = { changes[i], whole(tonumber(changes[i + 1])), definition }
end
return page
