-- Changes of definitions: each has a version, higher than all before, by which processes ask for what has changed.
-- needs: now
local REMEMBERED_US, AT_ONCE = 86400 * 1000000, 100
local DELETING = '{"deleting":true,'

-- What a definition begins with: the incarnation and the capacity in bytes. nil: it isn't there.
local function definition_head(text)
  local incarnation, bytes = string.match(text or '', '^(%d+) (%d+) ')
  return incarnation, tonumber(bytes)
end

-- Whether it was decided that it will be deleted: the first member of what is known of it.
local function is_being_deleted(text)
  return string.find(text, '^%d+ %d+ ' .. DELETING) ~= nil
end

local function mark_deletion(text)
  return (string.gsub(text, '{', DELETING, 1))
end

-- By the clock, so that a Redis that came back without definitions doesn't come to a version that processes know.
local function next_version(STATE)
  return whole(math.max(now_us, (tonumber(redis.call('HGET', STATE, 'version') or nil) or 0) + 1))
end

-- The version of what is known of a bucket; '' for one that isn't there.
local function version_of(CHANGED, bucket, text)
  return text and whole(tonumber(redis.call('ZSCORE', CHANGED, bucket) or '0')) or ''
end

-- Names that were deleted a day ago. Who hasn't asked since then reads all definitions again.
local function forget_deleted(CHANGED, STATE, DELETED)
  local until_us = whole(now_us - REMEMBERED_US)
  local old = redis.call('ZRANGE', DELETED, '-inf', until_us, 'BYSCORE', 'LIMIT', 0, AT_ONCE, 'WITHSCORES')
  for i = 1, #old, 2 do
    redis.call('ZREM', CHANGED, old[i])
    redis.call('ZREM', DELETED, old[i])
    redis.call('HSET', STATE, 'forgotten', whole(tonumber(old[i + 1])))
  end
end
