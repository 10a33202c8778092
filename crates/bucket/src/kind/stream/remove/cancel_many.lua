-- Cancels waiting or parked jobs that match, in each call as many as a script may read. Later jobs stay.
--
-- needs: at_maxmemory, constants, now, budget, job_filter, record, record_each
-- needs: kind/entry, kind/leave, kind/pending, kind/waiting
-- KEYS  1 jobs (stream)  2 meter (hash)  3 tally (hash)  4 outcomes (hash)  5 ended (zset)  6 holders (hash)
--       7 keyed jobs (hash)  8 key ends (zset)
--       9 notices (zset), then attempts (hash), unburied (hash), failed (hash), throttled (zset),
--       flow-state (hash), parked (zset), flows (zset), ranges (zset)
-- ARGV  1 what is kept (keep.lua)  2 the caller, '' for all  3 ms since the admission at least, '' for all
--       4 the latest ms of the admission, '' for all
--       5 the last id that may match ('' at first: by these times, or the last one there is now)
--       6 `waiting`, `parked`, or `either`: parked, or was and waits again
--       7 the id after which to begin, '' for the first  8 the most jobs to cancel in this call
-- Result  { cancelled, the last id that may match, '1' at the end, the id after which to go on }
local keys = {
  meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[4], ended = KEYS[5], holders = KEYS[6],
  keyed_jobs = KEYS[7], key_ends = KEYS[8], notices = KEYS[9], keep = ARGV[1],
}
local wanted, newest_ms, last, state = ARGV[2], newest_of(ARGV[3], ARGV[4]), ARGV[5], ARGV[6]
local after, most = ARGV[7], tonumber(ARGV[8])
-- The maximum of jobs checked in one call, so that a rare caller doesn't block Redis.
local LOOKED_AT = 200

if last == '' and newest_ms < math.huge then
  -- As the end of a range, an id without a sequence number stands for the last one of its millisecond.
  last = whole(newest_ms)
elseif last == '' then
  local newest = redis.call('XREVRANGE', JOBS, '+', '-', 'COUNT', 1)[1]
  if newest then count_read(newest[2]) end
  last = newest and newest[1] or '0-0'
end

-- All that can fail comes before the first write: a script doesn't roll back.
check_types(keys, false)
local looked_at, cancelled = 0, 0
local function may_go_on()
  return looked_at < LOOKED_AT and cancelled < most and may_read()
end

local function look_at(id, entry)
  looked_at = looked_at + 1
  local caller = caller_of(entry)
  if wanted ~= '' and caller ~= wanted then return end
  cancelled = cancelled + 1
  local failures = tonumber(leave(id, entry) or nil) or 0
  record(keys, id, outcome_of('cancelled', 'bulk cancel', failures, caller), 'cancelled', counted_bytes(entry), caller)
end

-- True at the end.
local function look_at_waiting()
  local is_all
  after, is_all = each_waiting(JOBS, PARKED, after, last, may_go_on, look_at)
  return is_all
end

-- In the order of admission, that is, of their ids, not of their due times. Returns true at the end.
local function look_at_parked()
  local parked = pending_jobs(JOBS, after == '' and '-' or '(' .. after, last, LOOKED_AT, PARKED_OWNER)
  for _, held in ipairs(parked) do
    if not may_go_on() then return false end
    after = held[1]
    local is_wanted = state == 'either' or redis.call('ZSCORE', PARKED, after)
    local found = is_wanted and redis.call('XRANGE', JOBS, after, after)[1]
    if found then
      count_read(found[2])
      look_at(found[1], found[2])
    end
  end
  return #parked < LOOKED_AT
end

local at_end
if state == 'waiting' then at_end = look_at_waiting() else at_end = look_at_parked() end
record_exits(keys)
write_ranges(JOBS)
return { cancelled, last, at_end and '1' or '0', after }
