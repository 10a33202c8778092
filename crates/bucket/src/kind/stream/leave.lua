-- Stream kind: how a job that no replica holds leaves the bucket. Keys as of the scripts that cancel: 1 jobs, 10 parked
-- (zset), 11 attempts (hash), 12 unburied (hash).
-- needs: constants
local JOBS, PARKED, ATTEMPTS, UNBURIED = KEYS[1], KEYS[10], KEYS[11], KEYS[12]

-- What was counted of its attempts: a number as text, or false.
local function leave(id)
  local counted = redis.call('HGET', ATTEMPTS, id)
  -- No group, before the first replica: nothing is pending.
  redis.pcall('XACK', JOBS, GROUP, id)
  redis.call('XDEL', JOBS, id)
  redis.call('ZREM', PARKED, id)
  redis.call('HDEL', ATTEMPTS, id)
  redis.call('HDEL', UNBURIED, id)
  return counted
end
