-- Stream kind: of one job, whether it is in flight, and when it is due.
-- needs: constants

-- Parked jobs are in the zset `parked`, before the flows and ranges, by the ms at which they are due. Whether the job
-- is in flight, and when it is due where it is parked. One that was parked waits again where it isn't in `parked`.
local function look_at_pending(jobs, id, _)
  local pending = redis.pcall('XPENDING', jobs, GROUP, id, id, 1)
  local owner = not pending.err and pending[1] and pending[1][2]
  if not owner then return false, nil end
  if owner ~= PARKED_OWNER then return true, nil end
  return false, tonumber(redis.call('ZSCORE', KEYS[#KEYS - 2], id) or nil)
end
