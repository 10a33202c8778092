-- Returns the keys that were changed since a version, a page of them; deleted ones by their ids.
--
-- needs: now
-- KEYS  1 keys (hash)  2 changed (zset)  3 state (hash)
-- ARGV  1 the epoch that its caller knows ('': none)  2 the version that it knows (0: none)  3 the most to return
-- Result  { epoch, number of keys, ms of the Redis clock, 1 where these begin with the first of all: what its caller
--         knows is from another time, else 0, 1 where more follow, else 0, { id, version, key ('': deleted) }… }
local REGISTRY, CHANGED, STATE = KEYS[1], KEYS[2], KEYS[3]
local known_epoch, known, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local function digits(number)
  return string.format('%.0f', number)
end

local state = redis.call('HMGET', STATE, 'epoch', 'version', 'forgotten')
local epoch, version, forgotten = state[1] or '', tonumber(state[2] or nil) or 0, tonumber(state[3] or nil) or 0
local is_from_start = epoch ~= known_epoch or known > version or known > 0 and known < forgotten
if is_from_start then known = 0 end
local changes = {}
if is_from_start or known < version then
  changes = redis.call('ZRANGE', CHANGED, '(' .. digits(known), '+inf', 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
end
local now_ms, has_more = digits(math.floor(now_us / 1000)), #changes == 2 * most and 1 or 0
local page = { epoch, redis.call('HLEN', REGISTRY), now_ms, is_from_start and 1 or 0, has_more }
for i = 1, #changes, 2 do
  local text = redis.call('HGET', REGISTRY, changes[i]) or ''
  page[#page + 1] = { changes[i], digits(tonumber(changes[i + 1])), text }
end
return page
