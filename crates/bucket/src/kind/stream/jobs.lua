-- Stream kind: how many jobs there are, one more, and when those that are parked are due.
-- needs: constants, now

-- The level, and what of it is pending, which is in flight or parked; in all, and { consumer, number }…. With
-- `by_admission`, an empty bucket isn't asked what is still pending of what somebody deleted by hand.
local function count_jobs(jobs, by_admission)
  local level = redis.call('XLEN', jobs)
  if by_admission and level == 0 then return 0, 0, {} end
  local pending = redis.pcall('XPENDING', jobs, GROUP)
  if pending.err then pending = { 0 } end
  return level, pending[1], pending[4] or {}
end

-- Whether nothing leaves the bucket: all of its jobs are parked.
local function is_idle(level, pending)
  return level == 0 or level <= pending and level <= redis.call('ZCARD', KEYS[#KEYS - 2])
end

-- Adds a job; what it returns is the job's id. nil for an entry that has nothing in it: it would only die.
local function append(keys, entry)
  if #entry == 0 then return nil end
  return redis.call('XADD', keys.jobs, '*', unpack(entry))
end

-- Parked jobs are in the zset `parked`, before the flows and ranges, by the ms at which they are due. µs until this
-- many of `level` jobs may leave: those that are parked only when they are due; and whether all are parked.
local function wait_until_due(level, jobs)
  local PARKED = KEYS[#KEYS - 2]
  local parked = redis.pcall('ZCARD', PARKED)
  -- An estimate for one job of a batch mustn't fail where others are added already.
  if type(parked) ~= 'number' then return 0, false end
  local of_parked = jobs - (level - parked)
  if of_parked < 1 then return 0, false end
  local last = redis.call('ZRANGE', PARKED, of_parked - 1, of_parked - 1, 'WITHSCORES')
  return last[2] and math.max(0, tonumber(last[2]) * 1000 - now_us) or 0, parked >= level
end

-- Callers, or groups, with a rate of their own that may not be called now are in `throttled` (flow_state.lua). µs until
-- the first of them may be, where the last take found nobody else, and fewer than `jobs` are in flight; otherwise 0.
local function wait_for_flows(jobs)
  local THROTTLED, FLOW_STATE, PARKED = KEYS[#KEYS - 4], KEYS[#KEYS - 3], KEYS[#KEYS - 2]
  local noted = redis.pcall('HMGET', FLOW_STATE, 'clock', 'there', 'came')
  local clock, wall = string.match(noted[1] or '', '^(%d+) (%d+)')
  if not clock or noted[2] ~= '01' or noted[3] then return 0 end
  local _, pending = count_jobs(KEYS[1])
  local parked = redis.pcall('ZCARD', PARKED)
  if type(parked) ~= 'number' or pending - parked >= jobs then return 0 end
  local first = redis.pcall('ZRANGE', THROTTLED, 0, 0, 'WITHSCORES')[2]
  return first and math.max(0, first - clock - math.max(0, now_us - wall)) or 0
end
