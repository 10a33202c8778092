-- Returns a page of the changes of a registry since the version that a process knows: { epoch, number of entries, ms of
-- the Redis clock, 1 if the page begins with the first entry of all, because the process knows another history, else 0,
-- 1 if more follow, else 0, { name, version, text ('' if deleted), … } }. `goes_on`: the process has begun to read all
-- entries, and asks for the next page. It can't have missed a deletion, although the entries that it has read may all
-- be older than one that is forgotten.
-- needs: now, registry_changes
local function changes_since(REGISTRY, CHANGED, STATE, known_epoch, known, most, most_bytes, goes_on, latest)
  local state = redis.call('HMGET', STATE, 'epoch', 'version', 'forgotten')
  local epoch, version, forgotten = state[1] or '', tonumber(state[2] or nil) or 0, tonumber(state[3] or nil) or 0
  local has_missed = known > 0 and known < forgotten and not goes_on
  local is_from_start = epoch ~= known_epoch or known > version or has_missed
  -- A failover may have lost changes that the process knows, although there are later ones. Then the version that the
  -- process knows of one of its latest changes is above that of the entry's last change here.
  for i = 1, known < version and #latest or 0, 2 do
    local changed = tonumber(redis.call('ZSCORE', CHANGED, latest[i]) or nil) or forgotten
    is_from_start = is_from_start or changed < tonumber(latest[i + 1])
  end
  if is_from_start then known = 0 end
  local changes, page, bytes = {}, {}, 0
  if is_from_start or known < version then
    changes = redis.call('ZRANGE', CHANGED, '(' .. digits(known), '+inf', 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
  end
  local has_more = #changes == 2 * most
  for i = 1, #changes, 2 do
    if bytes > most_bytes then
      has_more = true
      break
    end
    local text = redis.call('HGET', REGISTRY, changes[i]) or ''
    bytes = bytes + #text
    page[#page + 1], page[#page + 2], page[#page + 3] = changes[i], digits(tonumber(changes[i + 1])), text
  end
  local count, now_ms = redis.call('HLEN', REGISTRY), digits(math.floor(now_us / 1000))
  return { epoch, count, now_ms, is_from_start and 1 or 0, has_more and 1 or 0, page }
end
