-- Takes as many jobs as the pace, the throttle, `max_in_flight` and BATCH_BYTES allow. The calls of some may have to
-- wait a moment for their tokens. A job whose deadline has passed ends as expired, and costs no token.
--
-- needs: at_maxmemory, now, budget, counts, pace, settling, spend, throttle_left, keep, notices, kind/take
-- opens: outbox_maker = make_outbox
-- KEYS  1 jobs  2 pace (hash)  3 meter (hash)  4 tally (hash)  5 control (hash)  6 replicas (hash)  7 outcomes (hash)
--       8 ended (zset)  9 takes (hash: consumer → number of a take; that take and earlier ones do nothing any more)
--       10 holders (hash)  11 keyed jobs (hash)  12 key ends (zset)
--       13 dead (stream)  14 letters (hash)  15 sizes (zset)  16 notices (zset)  17 outbox (stream) with on_outcome,
--       then the state of the pace (string) if there is one, then the kind's, as in settle.lua
-- ARGV  1 version of the settings (pace.lua)  2 consumer  3 maximum number of jobs
--       4 plan of the pace ('': none)  5 max in flight (0: none)
--       6 µs since this replica last took jobs, or joined, by its monotonic clock; 14 is the time of that
--       7 what is kept (keep.lua)  8 max_hold in ms  9 number of this take
--       10 µs within which the calls of the jobs must begin  11 for how many µs they don't drain (permit.rs)
--       12 weights of the fair queuing (JSON; '': none)  13 rates and maximum concurrent calls of callers
--       (limits_of.lua; '': none)  14 µs of the Redis clock when it last took jobs, or joined ('':
--       unknown)  15 the last state of the pace that its process knows ('': none)  16 before its first take, µs of the
--       Redis clock when it joined ('' later, and after a standby)
--       17 how many µs before their time calls may be granted (permit.rs)
--       18 '1' if this replica came too late for the last jobs that were announced (wakes.rs)
-- Result  { 'fenced' } | { 'changed', … }
--         { 'settling', µs until the next take, state of the pace }: jobs weren't checked (settling.lua)
--         { 'idle', µs until the next take, wait reason, expired, died, µs of the Redis clock, state of the pace }
--         { 'jobs', expired, died, µs of the Redis clock, µs until the next take or '' (now), wait reason, state of the
--         pace, when the calls may begin ('': at once; else the answer of limit_spend, with spaces between the
--         numbers), in a stream the common fields of plain jobs, job… }
--         Wait reason: 'job' if a new one would be taken at once; 'token' if the pace has none; 'room' for the end of a
--         call; or ''.
--         Common fields: which of content type (4), layout version (8) and caller (10) differ, with spaces between
--         them; then these three of the first plain job. A plain job has no other fields but a body and a checksum, and
--         no failed attempts; its caller may be missing.
--         Job: its id, then in a list its element; in a stream its fields, failed attempts, and when it became due in
--         ms (0 unless it was parked and is traced), or for a plain job its body, its checksum, and what differs
--         State of the pace: '' if none was written, or the process needn't remember it. With jobs it comes after the
--         run_id of the server and a space.
local keys = {
  jobs = KEYS[1], meter = KEYS[3], tally = KEYS[4], outcomes = KEYS[7], ended = KEYS[8], holders = KEYS[10],
  keyed_jobs = KEYS[11], key_ends = KEYS[12], dead = KEYS[13], letters = KEYS[14], sizes = KEYS[15],
  notices = KEYS[16], keep = ARGV[7], pace = KEYS[2], pace_found = nil,
  -- A second line names the targets of on_outcome.
  outbox = string.find(ARGV[7], '\n', 1, true) and outbox_maker()(ARGV[7], KEYS[17]),
}
local PACE, CONTROL, REPLICAS, TAKES = KEYS[2], KEYS[5], KEYS[6], KEYS[9]
local version, consumer, want = ARGV[1], ARGV[2], tonumber(ARGV[3])
local plan, max_in_flight, elapsed = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local max_hold = tonumber(ARGV[8])
local valid, undrained, ahead = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[17])

if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return { 'fenced' } end

-- Few buckets have any of these keys: one command checks for all of them.
local has_rare = redis.call('EXISTS', TAKES, unpack(waiting_keys)) > 0
-- The replica has given up on this late take: jobs claimed now would never be called. (Lua allows 200 local variables.)
if has_rare then
  local number, given_up = tonumber(ARGV[9]), tonumber(redis.call('HGET', TAKES, consumer) or nil) or 0
  if number <= given_up then return { 'idle', 0, '0', 0, 0, now_us, '' } end
end

local changed, paused = control_read(CONTROL, version)
if changed then return changed end
local PAUSE_POLL, ROOM_POLL, BATCHING = 200000, 25000, 5000

local pace = pace_read(PACE)
keys.pace_found = pace
if plan ~= '' then
  local settles, state = pace_settling(PACE, pace, plan, ARGV[15], keys.notices)
  if settles then return { 'settling', whole(math.min(settles, IDLE_POLL)), state } end
end
local since = tonumber(ARGV[14])
local bounds = bounds_by(PACE, pace, ARGV[13], elapsed, since, undrained)
local tokens, next_token, refill = pace_room(pace, plan, elapsed, since, tonumber(ARGV[16]), valid, undrained, ahead)

-- Every take updates the state of the pace, also without a job: the time since then bounds the tokens earned later.
local function idle(wait, reason, expired, died)
  -- If Redis refuses this write (min-replicas-to-write), the next take counts from the older stored time, bounded by
  -- the replica's clock since this take.
  local is_written, state = pcall(pace_spend, PACE, pace, plan, 0)
  wait = math.min(wait, IDLE_POLL)
  return { 'idle', whole(wait), reason, expired or 0, died or 0, now_us, is_written and state or '' }
end

local throttle_us = throttle_left(PACE, pace, elapsed, since)
if paused or dead_is_full(keys) then return idle(PAUSE_POLL, '') end

-- A throttle longer than max_hold means that the Redis clock was set back: it is ignored.
if throttle_us > 0 and throttle_us <= max_hold * 1000 then return idle(throttle_us, '') end
-- After the clock was set back, a reduced rate grows back from now on, not from the later time that is stored.
if pace.grows and pace.grows > now_ms then pcall(redis.call, 'HSET', PACE, 'grows', whole(now_ms)) end

do
  local in_flight = count_in_flight(keys.jobs, has_rare)
  if keys.outbox then outcome_room = keys.outbox.room(keys, in_flight) end
  local room = math.min(outcome_room, max_in_flight > 0 and max_in_flight - in_flight or math.huge)
  -- Without calls in flight, the outbox is full: room comes when other buckets accept its jobs.
  if room <= 0 and in_flight > 0 then return idle(ROOM_POLL, 'room') end
  if room <= 0 then return idle(PAUSE_POLL, '') end
  want = math.min(want, room)
end

-- With a burst, or with calls that are granted ahead of their time, a take waits for several tokens: that takes fewer
-- takes for the same rate.
local function wait_for_tokens(next_token)
  return math.max(next_token + ahead / 2, math.min(BATCHING, refill / 2))
end

if tokens < 1 then return idle(wait_for_tokens(next_token), 'token') end
want = math.min(want, tokens)

local taken, expired, died, wait, takes_new = hand_out(keys, consumer, want, ARGV[12], bounds)
record_ends(keys)
-- If a replica came too late for announced jobs, `taken` is published for a minute when a take leaves no job. A Redis
-- clock that is set back ends this.
local CROWDED = 60000
local is_crowded = pace.crowded and pace.crowded > now_ms and pace.crowded <= now_ms + CROWDED
if #taken == 0 then
  if takes_new and ARGV[18] == '1' and not is_crowded then
    redis.pcall('HSET', PACE, 'crowded', whole(now_ms + CROWDED))
  end
  return idle(wait, takes_new and 'job' or '', expired, died)
end
-- Counts as a heartbeat: the replica isn't declared dead while the permits of these jobs are valid (permit.rs).
count_up(REPLICAS, consumer, 1)
local state, starts = pace_spend(PACE, pace, plan, #taken)
if state ~= '' then state = pace.server .. ' ' .. state end
local next_take, reason = '', ''
if takes_new and wait > 0 then
  -- No job waits any more, so another take would find none.
  next_take, reason = whole(math.min(wait, IDLE_POLL)), 'job'
elseif #taken == tokens then
  -- Another take would find no token, or at a high rate too few.
  next_take, reason = whole(math.min(wait_for_tokens(pace_next(plan)), IDLE_POLL)), 'token'
end
local answer = { 'jobs', expired, died, now_us, next_take, reason, state, starts }
answer_with(answer, taken)
-- Not if the replica took as many as it could, as others must then take the next ones; nor if a parked job is due
-- within IDLE_POLL, as the others take then anyway.
if is_crowded and #taken < tonumber(ARGV[3]) and (takes_new and wait >= IDLE_POLL or were_all(keys.jobs, #taken)) then
  publish(keys.notices, 'taken')
end
return answer
