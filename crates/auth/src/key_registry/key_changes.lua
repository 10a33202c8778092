-- Changes of keys that are made at run time.
-- needs: registry_changes, append_to
local REGISTRY, CHANGED, STATE, DELETED = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local HASHES, EXPIRES, AUDIT = KEYS[5], KEYS[6], KEYS[7]
local DAY_MS, MOST_AUDITED = 86400000, 100

-- What is of another type is found before anything is written: nobody may be let in by a key that is revoked.
check_registry(REGISTRY, CHANGED, STATE, DELETED)
redis.call('HLEN', HASHES)
redis.call('ZCARD', EXPIRES)
redis.call('XLEN', AUDIT)

-- What a key begins with: its hash, and the ms at which it expires. nil: it isn't there.
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

-- Its id is remembered, so that processes learn of it.
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
