-- Stream kind: how a job that no replica holds leaves the bucket. Keys as of the scripts that cancel: the jobs first.
-- needs: constants, kind/held
local JOBS = KEYS[1]

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
