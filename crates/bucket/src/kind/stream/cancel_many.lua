-- Cancels jobs that match and wait or are parked, as many at a time as a script may read. What comes later stays.
--
-- needs: at_maxmemory, constants, now, budget, keep, record, kind/entry, kind/leave, kind/pending
-- KEYS  1 jobs (stream)  2 meter (hash)  3 tally (hash)  4 outcomes (hash)  5 ended (zset)  6 holders (hash)
--       7 keyed jobs (hash)  8 key ends (zset)
--       9 notices (zset), then parked (zset), attempts (hash), unburied (hash), failed (hash)
-- ARGV  1 what is kept (keep.lua)  2 the caller, '' for all  3 ms since the admission at least, '' for all
--       4 the last id that may match ('' at first: by the age, or the last one there is now)  5 `waiting` or `parked`
--       6 the id after which to begin, '' for the first  7 the most jobs to cancel in this call
-- Result  { cancelled, the last id that may match, '1' at the end, the id after which to go on }
local keys = {
  meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[4], ended = KEYS[5], holders = KEYS[6],
  keyed_jobs = KEYS[7], key_ends = KEYS[8], notices = KEYS[9], keep = read_keep(ARGV[1]),
}
local wanted, age_ms, last, state = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local after, most = ARGV[6], tonumber(ARGV[7])
-- In one call, so that a rare caller doesn't keep Redis from others.
local LOOKED_AT = 200

if last == '' and age_ms ~= '' then
  -- An id without its second part stands for the last one of its millisecond.
  last = whole(math.max(0, now_ms - tonumber(age_ms)))
elseif last == '' then
  local newest = redis.call('XREVRANGE', JOBS, '+', '-', 'COUNT', 1)[1]
  if newest then count_read(newest[2]) end
  last = newest and newest[1] or '0-0'
end

local looked_at, cancelled = 0, 0
local function may_go_on()
  return looked_at < LOOKED_AT and cancelled < most and may_read()
end

local function look_at(id, entry)
  count_read(entry)
  local caller = caller_of(entry)
  if wanted ~= '' and caller ~= wanted then return end
  cancelled = cancelled + 1
  local failures = tonumber(leave(id) or 0)
  record(keys, id, outcome_of('cancelled', 'bulk cancel', failures, caller), 'cancelled', counted_bytes(entry), caller)
end

-- Nothing behind what was last delivered is pending. True at the end.
local function look_at_waiting()
  local delivered = last_delivered(JOBS)
  if delivered and (after == '' or is_after(delivered, after)) then after = delivered end
  while may_go_on() do
    local found = redis.call('XRANGE', JOBS, after == '' and '-' or '(' .. after, last, 'COUNT', 1)[1]
    if not found then return true end
    after, looked_at = found[1], looked_at + 1
    look_at(found[1], found[2])
  end
  return false
end

-- By their ids, which say when they came; their due times don't. True at the end.
local function look_at_parked()
  local parked = pending_jobs(JOBS, after == '' and '-' or '(' .. after, last, LOOKED_AT, PARKED_OWNER)
  for _, held in ipairs(parked) do
    if not may_go_on() then return false end
    after, looked_at = held[1], looked_at + 1
    local found = redis.call('XRANGE', JOBS, after, after)[1]
    if found then look_at(found[1], found[2]) end
  end
  return #parked < LOOKED_AT
end

local at_end
if state == 'parked' then at_end = look_at_parked() else at_end = look_at_waiting() end
record_exits(keys)
return { cancelled, last, at_end and '1' or '0', after }
