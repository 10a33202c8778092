-- Cancels all waiting and parked jobs, in each call as many as a script may read. Later jobs stay.
--
-- needs: at_maxmemory, constants, budget, record, record_each
-- needs: kind/entry, kind/leave, kind/waiting, kind/jobs, kind/census
-- KEYS  1 jobs (stream)  2 meter (hash)  3 tally (hash)  4 outcomes (hash)  5 ended (zset)  6 holders (hash)
--       7 keyed jobs (hash)  8 key ends (zset)
--       9 notices (zset), then attempts (hash), unburied (hash), failed (hash), throttled (zset),
--       flow-state (hash), parked (zset), flows (zset), ranges (zset)
-- ARGV  1 the last id that is to be purged ('' at first: the last one there is now)  2 the most jobs in this call
--       3 what is kept (keep.lua)  4 the id after which to go on with what waits, '' at first
-- Result  { purged, the last id that is to be purged, or '' when all is done, the id after which to go on }
local keys = {
  meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[4], ended = KEYS[5], holders = KEYS[6],
  keyed_jobs = KEYS[7], key_ends = KEYS[8], notices = KEYS[9], keep = ARGV[3],
}
local last, most, after = ARGV[1], tonumber(ARGV[2]), ARGV[4]
local FORGOTTEN_AT_ONCE = 1000

if last == '' then
  local newest = redis.call('XREVRANGE', JOBS, '+', '-', 'COUNT', 1)[1]
  if not newest then return { 0, '', '' } end
  count_read(newest[2])
  last = newest[1]
end

-- All that can fail comes before the first write: a script doesn't roll back.
check_types(keys, false)
local looked_at, purged = 0, 0
local function may_go_on()
  return looked_at < most and may_read()
end

local function drop(id, entry)
  looked_at, purged = looked_at + 1, purged + 1
  local failures = tonumber(leave(id, entry) or nil) or 0
  local caller = caller_of(entry)
  record(keys, id, outcome_of('cancelled', 'purged', failures, caller), 'cancelled', counted_bytes(entry), caller)
end

-- In the order of admission, that is, of their ids, not of their due times. Returns true when none is left.
local function drop_parked()
  local parked = pending_jobs(JOBS, '-', last, most, PARKED_OWNER)
  for _, held in ipairs(parked) do
    if not may_go_on() then return false end
    local id = held[1]
    local found = redis.call('XRANGE', JOBS, id, id)[1]
    if found then
      count_read(found[2])
      drop(id, found[2])
    else
      -- Somebody deleted the entry by hand, so it is only in the pending list.
      looked_at = looked_at + 1
      redis.call('XACK', JOBS, GROUP, id)
      redis.call('ZREM', PARKED, id)
      redis.call('HDEL', UNBURIED, id)
    end
  end
  return #parked < most
end

-- True when none is left.
local function drop_waiting()
  local is_all
  after, is_all = each_waiting(JOBS, PARKED, after, last, may_go_on, drop)
  return is_all
end

-- Removes all flows and ranges once no job waits. Returns true when all are removed.
local function forget_flows()
  local level, pending, holders = count_jobs(JOBS)
  if level > count_claimed(pending, holders, count_parked()) then return true end
  local is_all = true
  for _, key in ipairs({ RANGES, FLOWS }) do
    local members = redis.call('ZRANGE', key, 0, FORGOTTEN_AT_ONCE - 1)
    if #members > 0 then redis.call('ZREM', key, unpack(members)) end
    is_all = is_all and #members < FORGOTTEN_AT_ONCE
  end
  if is_all then forget_called() end
  return is_all
end

local all = drop_parked() and drop_waiting()
record_exits(keys)
write_ranges(JOBS)
all = all and forget_flows()
return { purged, all and '' or last, after }
