-- Stream kind: claimed jobs and their keys. Scripts identify a job by its id.
-- needs: constants

-- These keys, and those of the flows, are the last of KEYS in each script that needs them.
local ATTEMPTS, UNBURIED, FAILED, FLOW_STATE, PARKED =
  KEYS[#KEYS - 7], KEYS[#KEYS - 6], KEYS[#KEYS - 5], KEYS[#KEYS - 3], KEYS[#KEYS - 2]

local function job_id(id)
  return id
end

local function job_ids(ids)
  return ids
end

-- Whether any of these keys may exist, `any`, and FAILED, `failed`; nil: not checked yet.
local has_kept = {}

-- Keys that exist only while jobs are parked, have failed, or calls are counted by caller.
local function held_keys()
  return PARKED, ATTEMPTS, UNBURIED, FAILED, FLOW_STATE
end

-- Called by check_types in record.lua, which knows whether any of these keys exists.
local function check_held(is_any_there)
  has_kept.any, has_kept.failed = is_any_there, false
  if not is_any_there then return end
  redis.call('ZCARD', PARKED)
  redis.call('HLEN', ATTEMPTS)
  redis.call('HLEN', UNBURIED)
  has_kept.failed = redis.call('HLEN', FAILED) > 0
end

-- Removes jobs from the bucket. XACK comes first, as a write that needs no memory lets a script continue at maxmemory.
local function ack_and_delete(keys, ids)
  redis.call('XACK', keys.jobs, GROUP, unpack(ids))
  redis.call('XDEL', keys.jobs, unpack(ids))
  if has_kept.any == false then return end
  redis.call('HDEL', ATTEMPTS, unpack(ids))
  redis.call('HDEL', UNBURIED, unpack(ids))
end
