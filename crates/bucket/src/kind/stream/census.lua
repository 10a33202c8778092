-- Stream kind: what only a census counts.
-- needs: kind/pending
local PARKED = KEYS[#KEYS]

local function count_parked()
  return redis.call('ZCARD', PARKED)
end

-- Its id; '' when none exists. What is pending was delivered, and so is older than what waits; and has its id without
-- its body.
local function oldest_job(jobs)
  local pending = pending_jobs(jobs, '-', '+', 1)[1]
  local oldest = pending or redis.call('XRANGE', jobs, '-', '+', 'COUNT', 1)[1]
  return oldest and oldest[1] or ''
end
