-- Stream kind: the level, and what of it is pending, which is in flight or parked; in all, and { consumer, number }….
-- needs: constants
local function count_jobs(jobs)
  local pending = redis.pcall('XPENDING', jobs, GROUP)
  if pending.err then pending = { 0 } end
  return redis.call('XLEN', jobs), pending[1], pending[4] or {}
end
