-- Pace and take: as many jobs as the pace, the throttle and the room in flight allow, and BATCH_BYTES. Some may have to
-- wait a moment for their tokens. A job whose deadline has passed ends as expired and costs no token.
--
-- needs: at_maxmemory, now, budget, counts, pace, settling, spend, hold_left, keep, notices, kind/take
-- opens: outbox_maker = make_outbox
-- KEYS  1 jobs  2 pace (hash)  3 meter (hash)  4 tally (hash)  5 control (hash)  6 replicas (hash)  7 outcomes (hash)
--       8 ended (zset)  9 takes (hash: consumer → number of the take up to which those that arrive late take nothing)
--       10 holders (hash)  11 keyed jobs (hash)  12 key ends (zset)
--       13 dead (stream)  14 letters (hash)  15 sizes (zset)  16 notices (zset)  17 outbox (stream) where ends
--       go elsewhere, then where a pace has its state (string), then the kind's, as in settle.lua
-- ARGV  1 version of what is in force (pace.lua)  2 consumer  3 the most jobs wanted
--       4 plan of the pace ('': none)  5 max in flight (0: none)
--       6 µs since this replica joined or last asked, by its own clock, which nobody sets; 14 says when that was
--       7 what is kept (keep.lua)  8 the longest hold in ms  9 number of this take
--       10 µs within which the calls of the jobs must begin  11 for how many µs they don't drain (permit.rs)
--       12 the weights of callers that take turns (JSON; '': nobody does)  13 how fast each of them may be called, and
--       how many times at once (limits_of.lua; '': all may)  14 µs of the Redis clock when it joined or last asked ('':
--       unknown)  15 the last state of the pace that its process knows ('': none)  16 µs of the Redis clock when it
--       joined, until it has asked ('': it has, or did before it was on standby)
--       17 how many µs before their time calls may be granted (permit.rs)
--       18 '1' where this replica came too late for the last jobs that were announced (wakes.rs)
-- Result  { 'fenced' } | { 'changed', … }
--         { 'settling', µs until it is worth asking again, state of the pace }: nothing was looked at (settling.lua)
--         { 'idle', µs until it is worth asking again, what is wanting, expired, died, µs of the Redis clock, state of
--         the pace }
--         { 'jobs', expired, died, µs of the Redis clock, µs until it is worth asking again or '' (now), what is
--         wanting, state of the pace, when the calls may begin ('': at once; else as limit_spend answers it, with
--         spaces between the numbers), for a stream what plain jobs have in common, job… }
--         What is wanting: 'job', where a new one would be taken at once; 'token', where the pace has none;
--         'room', the end of a call; or ''.
--         In common: which of content type (4), layout version (8) and caller (10) aren't, with spaces between them;
--         then these three of the first plain job. Such a job has nothing but them, a body and a checksum, perhaps no
--         caller, and no failed attempts.
--         Of a job: its id, and an element | its fields, failed attempts, and when it became due in ms, 0 unless it
--         was parked and is traced | of a plain one its body, its checksum, and what differs
--         The state of the pace is '' where none was written, or nobody is to remember it.
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
local longest_hold = tonumber(ARGV[8])
local late, undrained, ahead = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[17])

if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return { 'fenced' } end

-- Few buckets have any of these keys: one command looks for all of them.
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
local asked = tonumber(ARGV[14])
local bounds = bounds_by(PACE, pace, ARGV[13], elapsed, asked, undrained)
local tokens, next_token, refill = pace_room(pace, plan, elapsed, asked, tonumber(ARGV[16]), late, undrained, ahead)

-- Every take updates the state of the pace, also without a job: the time since then bounds the tokens earned later.
local function idle(wait, wanting, expired, died)
  -- Where Redis refuses this write (min-replicas-to-write), the next take counts from the older stored time, bounded by
  -- the replica's clock since this take.
  local is_written, state = pcall(pace_spend, PACE, pace, plan, 0)
  wait = math.min(wait, IDLE_POLL)
  return { 'idle', whole(wait), wanting, expired or 0, died or 0, now_us, is_written and state or '' }
end

local held = hold_left(PACE, pace, elapsed, asked)
if paused or dead_is_full(keys) then return idle(PAUSE_POLL, '') end

-- A throttle longer than max_hold means that the Redis clock was set back: it is ignored.
if held > 0 and held <= longest_hold * 1000 then return idle(held, '') end
-- For the same reason a reduced rate doesn't wait for that clock before it grows back.
if pace.grows and pace.grows > now_ms then pcall(redis.call, 'HSET', PACE, 'grows', whole(now_ms)) end

do
  local flying = count_in_flight(keys.jobs, has_rare)
  if keys.outbox then outcome_room = keys.outbox.room(keys, flying) end
  local room = math.min(outcome_room, max_in_flight > 0 and max_in_flight - flying or math.huge)
  -- Without calls under way nothing but another bucket makes room.
  if room <= 0 and flying > 0 then return idle(ROOM_POLL, 'room') end
  if room <= 0 then return idle(PAUSE_POLL, '') end
  want = math.min(want, room)
end

-- With burst to spare, or calls that are granted ahead of their time, a few tokens are let gather: fewer questions for
-- the same rate.
local function wait_for_tokens(next_token)
  return math.max(next_token + ahead / 2, math.min(BATCHING, refill / 2))
end

if tokens < 1 then return idle(wait_for_tokens(next_token), 'token') end
want = math.min(want, tokens)

local taken, expired, died, wait, takes_new = hand_out(keys, consumer, want, ARGV[12], bounds)
record_ends(keys)
-- Several replicas ask for each job: for a while those who come too late hear of it. A clock that is put back ends it.
local CROWDED = 60000
local is_crowded = pace.crowded and pace.crowded > now_ms and pace.crowded <= now_ms + CROWDED
if #taken == 0 then
  if takes_new and ARGV[18] == '1' and not is_crowded then
    redis.pcall('HSET', PACE, 'crowded', whole(now_ms + CROWDED))
  end
  return idle(wait, takes_new and 'job' or '', expired, died)
end
-- As good as a heartbeat: who is handed jobs isn't declared dead before it may have called them (permit.rs).
count_up(REPLICAS, consumer, 1)
local state, starts = pace_spend(PACE, pace, plan, #taken)
local rest, wanting = '', ''
if takes_new and wait > 0 then
  -- What had to wait was all handed out: then one question is enough.
  rest, wanting = whole(math.min(wait, IDLE_POLL)), 'job'
elseif #taken == tokens then
  -- The next question would find no token, or at a high rate a few of those that may gather.
  rest, wanting = whole(math.min(wait_for_tokens(pace_next(plan)), IDLE_POLL)), 'token'
end
local answer = { 'jobs', expired, died, now_us, rest, wanting, state, starts }
answer_with(answer, taken)
-- One that took all that it has room for isn't the next to ask. When a parked job is due, others know from their takes:
-- all of them ask within IDLE_POLL.
if is_crowded and #taken < tonumber(ARGV[3]) and (takes_new and wait >= IDLE_POLL or were_all(keys.jobs, #taken)) then
  publish(keys.notices, 'taken')
end
return answer
