-- Ends jobs whose deadline has passed and that aren't in flight. A take does this, too, but not while the bucket is
-- paused, throttled or without a processor, and late for jobs at the end of the queue. Checks a part of the stream in
-- each call.
--
-- needs: at_maxmemory, constants, now, budget, outbox, record, record_each, kind/entry, kind/leave, kind/pending
-- KEYS  1 jobs (stream)  2 meter (hash)  3 tally (hash)  4 outcomes (hash)  5 ended (zset)  6 holders (hash)
--       7 keyed jobs (hash)  8 key ends (zset)
--       9 notices (zset)  10 outbox (stream) where ends go elsewhere, then attempts (hash), unburied (hash),
--       failed (hash), throttled (zset), flow-state (hash), parked (zset), flows (zset), ranges (zset)
-- ARGV  1 what is kept (keep.lua)  2 where to begin: the id before, '' for the first
--       3 the earliest deadline of the jobs before, in ms ('': none has one)
-- Result  { expired, '1' where more is to be looked at now, where to go on ('' for the first), the earliest deadline
--         of what was looked at ('': none) }
local keys = {
  meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[4], ended = KEYS[5], holders = KEYS[6],
  keyed_jobs = KEYS[7], key_ends = KEYS[8], notices = KEYS[9], keep = ARGV[1],
  outbox = open_outbox(ARGV[1], KEYS[10]),
}
local after, earliest = ARGV[2], tonumber(ARGV[3])
-- The maximum of jobs checked in one call; and after how many ms jobs in flight are checked again, as they may be
-- requeued without an attempt.
local LOOKED_AT, LATER = 200, 60000
-- After how many ms all jobs are checked for the second time, in case an intake of an earlier version still adds some.
local UPGRADED = 3600000

-- All that can fail comes before the first write: a script doesn't roll back.
check_types(keys, false)
local room = keys.outbox and keys.outbox.room(keys, count_with_replicas(JOBS)) or math.huge
local expired = 0

-- Ends a job if it may be ended. Returns when it must be checked again, in ms, or nil.
local function expire(id, entry)
  local pending = redis.pcall('XPENDING', JOBS, GROUP, id, id, 1)
  -- No group, before the first replica: nothing is pending.
  local held = not pending.err and pending[1] or nil
  if held and held[2] ~= PARKED_OWNER then return now_ms + LATER end
  local counted = held and redis.call('HGET', ATTEMPTS, id)
  -- Not a job that was called before its deadline, or that waits for room among the dead letters.
  if (tonumber(counted or nil) or 0) > 0 or held and redis.call('HEXISTS', UNBURIED, id) == 1 then return nil end
  leave(id, entry)
  local deliveries = held and held[4] or 0
  record_expired(keys, id, deliveries, counted, counted_bytes(entry), caller_of(entry), field(entry, 'chain'))
  expired = expired + 1
  return nil
end

-- Returns 'end' at the end of the stream, 'full' if the outbox has no room, or nil if there is more.
local function look()
  for _ = 1, LOOKED_AT do
    if not may_read() then return nil end
    local found = first_entry(JOBS, after == '' and '-' or '(' .. after, '+')
    if not found then return 'end' end
    count_read(found[2])
    local deadline = tonumber(option(found[2], 'expires'))
    if deadline and deadline <= now_ms then
      if expired >= room then return 'full' end
      deadline = expire(found[1], found[2])
    end
    if deadline then earliest = math.min(earliest or deadline, deadline) end
    after = found[1]
  end
  return nil
end

local stopped = look()
record_exits(keys)
write_ranges(JOBS)
if stopped ~= 'end' then return { expired, stopped and '0' or '1', after, earliest and whole(earliest) or '' } end
if redis.call('HSETNX', keys.tally, 'deadline_known', '1') == 1 then
  earliest = math.min(earliest or math.huge, now_ms + UPGRADED)
end
-- Jobs that were added between the calls are at the end of the stream, so they were checked, too.
if earliest then
  redis.call('HSET', keys.tally, 'deadline', whole(earliest))
else
  redis.call('HDEL', keys.tally, 'deadline')
end
return { expired, '0', '', '' }
