-- Stream kind: a job that a replica holds is pending for its consumer. Scripts are given its id.
local PARKED, ATTEMPTS = KEYS[#KEYS - 1], KEYS[#KEYS]

local function job_id(id)
  return id
end

-- Out of the bucket. Acknowledged first: at maxmemory a script may go on once it has written something that needs no memory.
local function withdraw(keys, ids)
  redis.call('XACK', keys.jobs, 'processors', unpack(ids))
  redis.call('XDEL', keys.jobs, unpack(ids))
  redis.call('HDEL', ATTEMPTS, unpack(ids))
end

-- Due for any replica after `wait` ms. False for one that somebody deleted by hand: only the pending list still knows it.
local function park(keys, id, wait, deliveries)
  local parked = redis.call('XCLAIM', keys.jobs, 'processors', '@parked', 0, id, 'RETRYCOUNT', deliveries, 'JUSTID')
  if #parked == 0 then
    redis.call('XACK', keys.jobs, 'processors', id)
    return false
  end
  redis.call('ZADD', PARKED, whole(now_ms + wait), id)
  return true
end

-- After an attempt; `failed` says whether it counts.
local function put_back(keys, id, wait, failed)
  if park(keys, id, wait, 0) and failed then redis.call('HINCRBY', ATTEMPTS, id, 1) end
end

-- Up to `most` of what a consumer holds: { job, times it was handed out }….
local function held_by(keys, consumer, most)
  local pending = redis.pcall('XPENDING', keys.jobs, 'processors', '-', '+', most, consumer)
  local held = {}
  -- No stream, no group: nothing is held.
  for i, job in ipairs(pending.err and {} or pending) do held[i] = { job[1], job[4] } end
  return held
end

-- Due for any replica, at once or after `wait` ms; false for a job that isn't there.
local function release(keys, id, deliveries, wait)
  return park(keys, id, wait or 0, deliveries)
end

local function failures_of(id)
  return tonumber(redis.call('HGET', ATTEMPTS, id) or 0)
end
