-- Stream kind: whether a job is in flight, and when it is due.
-- needs: constants

-- Returns whether the job is in flight; and if it is parked, when it is due, in ms.
local function pending_state(jobs, id, _)
  local pending = redis.pcall('XPENDING', jobs, GROUP, id, id, 1)
  local owner = not pending.err and pending[1] and pending[1][2]
  if not owner then return false, nil end
  if owner ~= PARKED_OWNER then return true, nil end
  return false, tonumber(redis.call('ZSCORE', KEYS[#KEYS - 2], id) or nil)
end
