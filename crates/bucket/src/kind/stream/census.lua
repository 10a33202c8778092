-- Stream kind: what only a census counts.
-- needs: constants, kind/pending
local PARKED, RANGES = KEYS[#KEYS - 2], KEYS[#KEYS]

local function count_parked()
  return redis.call('ZCARD', PARKED)
end

-- Parked jobs that are due until then.
local function count_due(until_ms)
  return redis.call('ZCOUNT', PARKED, '-inf', until_ms)
end

-- What is in flight or parked, of what is pending: a job that was parked and waits for its turn again is still pending.
local function count_claimed(pending, holders, parked)
  for _, holder in ipairs(holders) do
    if holder[1] == PARKED_OWNER then return pending - math.max(0, tonumber(holder[2]) - parked) end
  end
  return pending
end

-- Its id; '' when none exists. Where nothing waits in a range, what is pending was delivered, and so is older than what
-- waits; and has its id without its body.
local function oldest_job(jobs)
  local pending = redis.call('ZCARD', RANGES) == 0 and pending_jobs(jobs, '-', '+', 1)[1]
  local oldest = pending or redis.call('XRANGE', jobs, '-', '+', 'COUNT', 1)[1]
  return oldest and oldest[1] or ''
end
