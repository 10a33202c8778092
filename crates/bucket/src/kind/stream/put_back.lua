-- Stream kind: claimed jobs that stay in the bucket, and their failed attempts.
-- needs: constants, now, kind/held

-- Due for any replica after `wait` ms. False for one that somebody deleted by hand: only the pending list still knows
-- it.
local function park(keys, id, wait, deliveries)
  local parked = redis.call('XCLAIM', keys.jobs, GROUP, PARKED_OWNER, 0, id, 'RETRYCOUNT', deliveries, 'JUSTID')
  if #parked == 0 then
    redis.call('XACK', keys.jobs, GROUP, id)
    return false
  end
  redis.call('ZADD', PARKED, whole(now_ms + wait), id)
  return true
end

-- After an attempt. `counts`: 1 for one that failed; 0 for one that was throttled, which is no failure and yet was
-- made; nil where there was none. Whether the job is there.
local function put_back(keys, id, wait, counts)
  if not park(keys, id, wait, 0) then return false end
  if counts then redis.call('HINCRBY', ATTEMPTS, id, counts) end
  return true
end

-- The failed attempts that are kept of a job, in lines; false where none is.
local function failed_of(id)
  if has_kept.failed == nil then has_kept.failed = redis.call('HLEN', FAILED) > 0 end
  return has_kept.failed and redis.call('HGET', FAILED, id)
end

-- Unless they are kept of `most` others.
local function write_failed(id, lines, most)
  if redis.call('HLEN', FAILED) >= most and redis.call('HEXISTS', FAILED, id) == 0 then return end
  redis.call('HSET', FAILED, id, lines)
  has_kept.failed = true
end

local function forget_failed(id)
  redis.call('HDEL', FAILED, id)
end

-- Its record says how it is to end: it is never handed out again. Whether the job is there.
local function keep_unburied(keys, id, outcome)
  if not park(keys, id, 0, 0) then return false end
  redis.call('HSET', UNBURIED, id, outcome)
  return true
end
