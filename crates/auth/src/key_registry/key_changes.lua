-- Changes of keys that are made at run time: each has a version, higher than all before, by which processes ask for
-- what has changed.
-- needs: now
local REGISTRY, CHANGED, STATE, DELETED = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local HASHES, EXPIRES, AUDIT = KEYS[5], KEYS[6], KEYS[7]
local DAY_MS, AT_ONCE, MOST_REMEMBERED, MOST_AUDITED = 86400000, 100, 10000, 100

local function digits(number)
  return string.format('%.0f', number)
end

-- What a key begins with: its hash, and the ms at which it expires. nil: it isn't there.
local function key_head(text)
  local sha256, expires = string.match(text or '', '^(%x+) (%d*) ')
  return sha256, tonumber(expires)
end

-- The version of what is known of a key; '' for one that isn't there.
local function version_of(id, text)
  return text and digits(tonumber(redis.call('ZSCORE', CHANGED, id) or '0')) or ''
end

-- By the clock, so that a Redis that came back without keys doesn't come to a version that processes know.
local function note_change(id, grown)
  local state = redis.call('HMGET', STATE, 'version', 'bytes')
  local version = digits(math.max(now_us, (tonumber(state[1]) or 0) + 1))
  local bytes = math.max(0, (tonumber(state[2]) or 0) + grown)
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

-- Ids that were deleted a day ago, or many deletions ago. Who hasn't asked since then reads all keys again.
local function forget_deleted()
  local old = redis.call('ZRANGE', DELETED, 0, AT_ONCE - 1, 'WITHSCORES')
  local many = redis.call('ZCARD', DELETED) - MOST_REMEMBERED
  for i = 1, #old, 2 do
    local version = tonumber(old[i + 1])
    if i > 2 * many and version > now_us - DAY_MS * 1000 then return end
    redis.call('ZREM', CHANGED, old[i])
    redis.call('ZREM', DELETED, old[i])
    redis.call('HSET', STATE, 'forgotten', digits(version))
  end
end

local function record(by, action, id, detail)
  redis.call('XADD', AUDIT, 'MAXLEN', MOST_AUDITED, '*', 'key', by, 'action', action, 'id', id, 'detail', detail)
end
