-- Stream kind: jobs that are claimed, and what is kept of them. Scripts are given the id.
-- needs: constants, now

-- What is kept of claimed jobs, before what is known of when jobs are called, which is the last of KEYS where a script
-- is given any of it.
local ATTEMPTS, UNBURIED, FAILED, FLOW_STATE, PARKED =
  KEYS[#KEYS - 7], KEYS[#KEYS - 6], KEYS[#KEYS - 5], KEYS[#KEYS - 3], KEYS[#KEYS - 2]

local function job_id(id)
  return id
end

-- Whether anything is kept of claimed jobs, `any`, and of failed attempts, `failed`; nil: not looked yet.
local has_kept = {}

-- What is there only while jobs are parked, or were tried in vain, or calls of each caller are counted.
local function held_keys()
  return PARKED, ATTEMPTS, UNBURIED, FAILED, FLOW_STATE
end

-- As check_types in record.lua, which has looked whether any of these is there.
local function check_held(is_any_there)
  has_kept.any, has_kept.failed = is_any_there, false
  if not is_any_there then return end
  redis.call('ZCARD', PARKED)
  redis.call('HLEN', ATTEMPTS)
  redis.call('HLEN', UNBURIED)
  has_kept.failed = redis.call('HLEN', FAILED) > 0
end

-- Out of the bucket. Acknowledged first: at maxmemory a script may go on once it has written something that needs no
-- memory.
local function ack_and_delete(keys, ids)
  redis.call('XACK', keys.jobs, GROUP, unpack(ids))
  redis.call('XDEL', keys.jobs, unpack(ids))
  if has_kept.any == false then return end
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
