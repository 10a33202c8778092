-- Stream kind: what only a census counts.
local PARKED = KEYS[#KEYS]

local function count_parked()
  return redis.call('ZCARD', PARKED)
end

-- Its id; '' when there is none.
local function oldest_job(jobs)
  local oldest = redis.call('XRANGE', jobs, '-', '+', 'COUNT', 1)[1]
  return oldest and oldest[1] or ''
end
