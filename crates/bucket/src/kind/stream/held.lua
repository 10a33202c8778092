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
-- Returns the places among `ids` of those that don't exist, or nil: Redis has lost them, or another replica has ended
-- them.
local function ack_and_delete(keys, ids)
  local absent
  if redis.call('XACK', keys.jobs, GROUP, unpack(ids)) == #ids then
    redis.call('XDEL', keys.jobs, unpack(ids))
  else
    absent = {}
    for i, id in ipairs(ids) do
      if redis.call('XDEL', keys.jobs, id) == 0 then absent[#absent + 1] = i end
    end
  end
  if has_kept.any == false then return absent end
  redis.call('HDEL', ATTEMPTS, unpack(ids))
  redis.call('HDEL', UNBURIED, unpack(ids))
  return absent
end
