-- Changes of keys that are created over the API.
-- needs: registry_changes, append_to
local REGISTRY, CHANGED, STATE, DELETED = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local HASHES, EXPIRES, AUDIT = KEYS[5], KEYS[6], KEYS[7]
local DAY_MS, MOST_AUDITED = 86400000, 100

-- Fails before the first write if a key has another type, because a partly revoked key could stay valid.
check_registry(REGISTRY, CHANGED, STATE, DELETED)
redis.call('HLEN', HASHES)
redis.call('ZCARD', EXPIRES)
redis.call('XLEN', AUDIT)

-- Returns the hash of a key and its expiry in ms; nil if the key doesn't exist.
local function key_head(text)
  local sha256, expires = string.match(text or '', '^(%x+) (%d*) ')
  return sha256, tonumber(expires)
end

local function note_change(id, grown)
  local version = next_version(STATE)
  local bytes = math.max(0, (tonumber(redis.call('HGET', STATE, 'bytes') or nil) or 0) + grown)
  redis.call('HSET', STATE, 'version', version, 'bytes', digits(bytes))
  redis.call('ZADD', CHANGED, version, id)
  return version
end

-- Removes a key. Its id stays in `deleted`, so that processes notice.
local function remove_key(id, text)
  redis.call('HDEL', REGISTRY, id)
  local sha256 = key_head(text)
  if sha256 then redis.call('HDEL', HASHES, sha256) end
  redis.call('ZREM', EXPIRES, id)
  redis.call('ZADD', DELETED, note_change(id, -#text), id)
end

local function record(by, action, id, detail)
  append_to(AUDIT, 'MAXLEN', MOST_AUDITED, '*', 'key', by, 'action', action, 'id', id, 'detail', detail)
end
