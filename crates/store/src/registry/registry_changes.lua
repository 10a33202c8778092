-- Changes of a registry. Each gets a version higher than all before, with which processes ask for later changes.
-- needs: now
local DAY_US, AT_ONCE, MOST_REMEMBERED = 86400 * 1000000, 100, 10000

local function digits(number)
  return string.format('%.0f', number)
end

-- Raises the error for a key of another type before the first write, as scripts don't roll back.
local function check_registry(REGISTRY, CHANGED, STATE, DELETED)
  for _, hash in ipairs({ REGISTRY, STATE }) do redis.call('HLEN', hash) end
  for _, zset in ipairs({ CHANGED, DELETED }) do redis.call('ZCARD', zset) end
end

-- Returns the version of an entry; '' if it doesn't exist.
local function version_of(CHANGED, name, text)
  return text and digits(tonumber(redis.call('ZSCORE', CHANGED, name) or '0')) or ''
end

-- Based on the clock, so that a Redis that has lost entries doesn't reuse versions that processes know.
local function next_version(STATE)
  return digits(math.max(now_us, (tonumber(redis.call('HGET', STATE, 'version') or nil) or 0) + 1))
end

-- Forgets names that were deleted a day ago, or many deletions ago. Processes that haven't read since then read all
-- entries.
local function forget_deleted(CHANGED, STATE, DELETED)
  local old = redis.call('ZRANGE', DELETED, 0, AT_ONCE - 1, 'WITHSCORES')
  local many = redis.call('ZCARD', DELETED) - MOST_REMEMBERED
  for i = 1, #old, 2 do
    local version = tonumber(old[i + 1])
    if i > 2 * many and version > now_us - DAY_US then return end
    redis.call('ZREM', CHANGED, old[i])
    redis.call('ZREM', DELETED, old[i])
    redis.call('HSET', STATE, 'forgotten', digits(version))
  end
end
