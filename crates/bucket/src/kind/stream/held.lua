-- Stream kind: jobs that are claimed, and what is kept of them. Scripts are given the id.
-- needs: constants

-- What is kept of claimed jobs, before what is known of when jobs are called, which is the last of KEYS where a script
-- is given any of it.
local ATTEMPTS, UNBURIED, FAILED, FLOW_STATE, PARKED =
  KEYS[#KEYS - 7], KEYS[#KEYS - 6], KEYS[#KEYS - 5], KEYS[#KEYS - 3], KEYS[#KEYS - 2]

local function job_id(id)
  return id
end

local function job_ids(ids)
  return ids
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
