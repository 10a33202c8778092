-- Stream kind: removes a job that isn't in flight. KEYS as in the scripts that cancel. `write_ranges` must be called
-- after the last one.
-- needs: constants, kind/held, kind/flows, kind/leave_ranges
local JOBS = KEYS[1]
-- Reads these keys, so that the script fails before its first write if one has another type.
redis.call('ZCARD', PARKED)
redis.call('HLEN', UNBURIED)
redis.call('HLEN', FAILED)

-- Returns the job's number of failed attempts as text, or false.
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
