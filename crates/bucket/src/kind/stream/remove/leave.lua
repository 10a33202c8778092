-- Stream kind: how a job that no replica holds leaves the bucket. Keys as of the scripts that cancel: the jobs first.
-- Behind the last one, `write_ranges`.
-- needs: constants, kind/held, kind/flows, kind/leave_ranges
local JOBS = KEYS[1]
-- What is of another type is found before anything is written.
redis.call('ZCARD', PARKED)
redis.call('HLEN', UNBURIED)
redis.call('HLEN', FAILED)

-- What was counted of its attempts: a number as text, or false.
local function leave(id, entry)
  local counted = redis.call('HGET', ATTEMPTS, id)
  -- No group, before the first replica: nothing is pending.
  redis.pcall('XACK', JOBS, GROUP, id)
  redis.call('XDEL', JOBS, id)
  if redis.call('ZREM', PARKED, id) == 0 then leave_range(id, flow_of_entry(entry)) end
  redis.call('HDEL', ATTEMPTS, id)
  redis.call('HDEL', UNBURIED, id)
  return counted
end
