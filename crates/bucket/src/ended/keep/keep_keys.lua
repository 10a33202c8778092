-- The idempotency keys of jobs that have ended.
-- needs: now, keep

-- An idempotency key is valid while its job is in the bucket, and for a time after its end: hash keyed_jobs, job id →
-- name of its key; zset key_ends, name → ms at which it expires. `keys.keys_ms`: that time, for scripts without other
-- bounds. `has_keys`: nil until it was checked.
local has_keys
local function end_key(keys, id)
  if has_keys == nil then has_keys = redis.call('HLEN', keys.keyed_jobs) > 0 end
  local name = has_keys and redis.call('HGET', keys.keyed_jobs, id)
  if not name then return end
  redis.call('HDEL', keys.keyed_jobs, id)
  redis.call('ZADD', keys.key_ends, whole(now_ms + (keys.keys_ms or keep_of(keys).keys_ms)), name)
end
