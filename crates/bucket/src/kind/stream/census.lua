-- Stream kind: counts for the census.
-- needs: constants, kind/pending
local PARKED, RANGES = KEYS[#KEYS - 2], KEYS[#KEYS]

local function count_parked()
  return redis.call('ZCARD', PARKED)
end

-- Parked jobs that are due at `until_ms`.
local function count_due(until_ms)
  return redis.call('ZCOUNT', PARKED, '-inf', until_ms)
end

-- The pending jobs that are in flight or parked. The others of PARKED_OWNER wait again in a flow.
local function count_claimed(pending, holders, parked)
  for _, holder in ipairs(holders) do
    if holder[1] == PARKED_OWNER then return pending - math.max(0, tonumber(holder[2]) - parked) end
  end
  return pending
end

-- The id of the oldest job, '' without jobs. If no range exists, pending jobs are older than waiting ones, and the
-- pending list has their ids without their bodies.
local function oldest_job(jobs)
  local pending = redis.call('ZCARD', RANGES) == 0 and pending_jobs(jobs, '-', '+', 1)[1]
  local oldest = pending or redis.call('XRANGE', jobs, '-', '+', 'COUNT', 1)[1]
  return oldest and oldest[1] or ''
end
