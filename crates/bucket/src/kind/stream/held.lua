-- Stream kind: a job that a replica holds is pending for its consumer. Scripts are given its id.
-- needs: constants, now
local PARKED, ATTEMPTS, UNBURIED = KEYS[#KEYS - 2], KEYS[#KEYS - 1], KEYS[#KEYS]

local function job_id(id)
  return id
end

-- As check_types in bury.lua.
local function check_held()
  redis.call('ZCARD', PARKED)
  redis.call('HLEN', ATTEMPTS)
  redis.call('HLEN', UNBURIED)
end

-- Out of the bucket. Acknowledged first: at maxmemory a script may go on once it has written something that needs no
-- memory.
local function withdraw(keys, ids)
  redis.call('XACK', keys.jobs, GROUP, unpack(ids))
  redis.call('XDEL', keys.jobs, unpack(ids))
  redis.call('HDEL', ATTEMPTS, unpack(ids))
  redis.call('HDEL', UNBURIED, unpack(ids))
end

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
-- made; nil where there was none.
local function put_back(keys, id, wait, counts)
  if park(keys, id, wait, 0) and counts then redis.call('HINCRBY', ATTEMPTS, id, counts) end
end

-- Its record says how it is to end: it is never handed out again.
local function keep_unburied(keys, id, outcome)
  if park(keys, id, 0, 0) then redis.call('HSET', UNBURIED, id, outcome) end
end

-- Up to `most` of what a consumer holds: { job, times it was handed out }…; and where to go on, '' at the end.
local function held_by(keys, consumer, most, place)
  local from = place == '' and '-' or '(' .. place
  local pending = redis.pcall('XPENDING', keys.jobs, GROUP, from, '+', most, consumer)
  local held = {}
  -- No stream, no group: nothing is claimed.
  for i, job in ipairs(pending.err and {} or pending) do held[i] = { job[1], job[4] } end
  return held, #held < most and '' or held[most][1]
end

-- Due for any replica, at once or after `wait` ms; false for a job that isn't there.
local function release(keys, id, deliveries, wait)
  return park(keys, id, wait or 0, deliveries)
end

local function failures_of(id)
  return tonumber(redis.call('HGET', ATTEMPTS, id) or 0)
end
