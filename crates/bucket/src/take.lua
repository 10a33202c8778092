-- Pace and take: as many jobs as the pace, the hold and the room in flight allow, parked ones that are due first, then new
-- ones. A job whose time has not come is parked on the way, one whose deadline has passed ends as expired; neither costs
-- a token.
--
-- KEYS  1 jobs (stream)  2 parked (zset)  3 pace (hash)  4 meter (hash)  5 tally (hash)  6 control (hash)
--       7 replicas (hash)  8 attempts (hash)  9 outcomes (hash)  10 ended (zset)
-- ARGV  1 consumer  2 the most jobs wanted  3 calls and 4 µs of the rate (0: none)  5 burst  6 max in flight (0: none)
--       7 µs since this replica joined or last asked, by its own clock, which nobody sets
--       8 ms to keep outcomes  9 the most outcomes  10 the longest hold in ms
-- Result  { 'fenced' }
--         { 'idle', µs until it is worth asking again, '1' when a new entry would be taken at once, last id, concurrency, expired }
--         { 'jobs', concurrency, expired, { id, fields, failed attempts }… }
local JOBS, PARKED, PACE, CONTROL, REPLICAS, ATTEMPTS = KEYS[1], KEYS[2], KEYS[3], KEYS[6], KEYS[7], KEYS[8]
local keys = { meter = KEYS[4], tally = KEYS[5], outcomes = KEYS[9], ended = KEYS[10] }
local consumer, want = ARGV[1], tonumber(ARGV[2])

if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return { 'fenced' } end

local force = settings_in_force(CONTROL, 0, 0, ARGV[3], ARGV[4], ARGV[5], ARGV[6])
local IDLE_POLL, PAUSE_POLL, ROOM_POLL, BATCHING = 1000000, 200000, 25000, 5000
local expired = 0

local pace = pace_read(PACE)
local full = force.burst * force.period
local level = force.limit > 0 and pace_level(pace, force.limit, force.period, force.burst, tonumber(ARGV[7])) or 0

-- The pace is brought up to date at every question, so that what has passed since the last one bounds what has leaked since.
local function idle(wait, on_new, last_id)
  -- At maxmemory this write is refused; then the next one counts from an older time, by a clock that runs from this one.
  if force.limit > 0 then pcall(pace_write, PACE, level, force.limit, force.period) end
  return { 'idle', whole(wait), on_new or '0', last_id or '0-0', force.concurrency, expired }
end

if force.paused then return idle(PAUSE_POLL) end

local held = pace.hold * 1000 - now_us
-- A hold longer than any that is set comes from a clock that was put back since.
if held > 0 and held <= tonumber(ARGV[10]) * 1000 then return idle(math.min(held, IDLE_POLL)) end

local group = redis.pcall('XPENDING', JOBS, 'processors')
if group.err then
  -- The stream or its group is gone (DEL, FLUSHALL): begin anew with all that is there.
  local made = redis.pcall('XGROUP', 'CREATE', JOBS, 'processors', '0', 'MKSTREAM')
  if made.err then return made end
  group = { 0 }
end
if force.max_in_flight > 0 then
  local room = force.max_in_flight - (group[1] - redis.call('ZCARD', PARKED))
  if room <= 0 then return idle(ROOM_POLL) end
  want = math.min(want, room)
end

if force.limit > 0 then
  local tokens = math.floor((full - level) / force.period)
  if tokens < 1 then
    local next_token = math.ceil((level + force.period - full) / force.limit)
    -- With burst to spare, a few tokens are let gather: fewer questions for the same rate.
    local gather = math.min(BATCHING, full / force.limit / 2)
    return idle(math.max(next_token, gather))
  end
  want = math.min(want, tokens)
end

local function expire(id, entry)
  redis.call('XACK', JOBS, 'processors', id)
  redis.call('XDEL', JOBS, id)
  record(keys, id, '{"result":"expired","reason":"not started before its deadline","attempts":0}', 'expired', counted_bytes(entry))
  expired = expired + 1
end

local taken = {}
local function hand_out(id, entry, failures)
  local deadline = tonumber(field(entry, 'expires'))
  if deadline and deadline <= now_ms and failures == 0 then return expire(id, entry) end
  taken[#taken + 1] = { id, entry, failures }
end

local due = redis.call('ZRANGE', PARKED, '-inf', whole(now_ms), 'BYSCORE', 'LIMIT', 0, want)
if #due > 0 then
  local failures = redis.call('HMGET', ATTEMPTS, unpack(due))
  redis.call('ZREM', PARKED, unpack(due))
  for i, id in ipairs(due) do
    local claimed = redis.call('XCLAIM', JOBS, 'processors', consumer, 0, id)[1]
    if claimed and claimed[2] then
      hand_out(claimed[1], claimed[2], tonumber(failures[i] or 0))
    else
      -- Deleted by hand, or unknown to a group that was made anew: in both cases nothing is pending.
      redis.call('XACK', JOBS, 'processors', id)
    end
  end
end

local drained = false
local rounds = 0
while #taken < want and not drained and rounds < 16 do
  rounds = rounds + 1
  local count = want - #taken
  local got = redis.call('XREADGROUP', 'GROUP', 'processors', consumer, 'COUNT', count, 'STREAMS', JOBS, '>')
  local entries = got and got[1][2] or {}
  drained = #entries < count
  for _, found in ipairs(entries) do
    local id, entry = found[1], found[2]
    local due_ms = tonumber(field(entry, 'due'))
    local deadline = tonumber(field(entry, 'expires'))
    if due_ms and due_ms > now_ms and not (deadline and deadline <= now_ms) then
      redis.call('XCLAIM', JOBS, 'processors', '@parked', 0, id, 'RETRYCOUNT', 0, 'JUSTID')
      redis.call('ZADD', PARKED, whole(due_ms), id)
    else
      hand_out(id, entry, 0)
    end
  end
end

if expired > 0 then
  departed(keys, expired)
  forget_outcomes(keys, tonumber(ARGV[8]), tonumber(ARGV[9]))
end
if force.limit > 0 then pace_write(PACE, level + #taken * force.period, force.limit, force.period) end
if #taken > 0 then return { 'jobs', force.concurrency, expired, unpack(taken) } end
if not drained then return idle(0) end

local wait = IDLE_POLL
local first = redis.call('ZRANGE', PARKED, 0, 0, 'WITHSCORES')
if first[2] then wait = math.min(wait, math.max(0, first[2] * 1000 - now_us)) end
local info = redis.call('XINFO', 'STREAM', JOBS)
for i = 1, #info, 2 do
  if info[i] == 'last-generated-id' then return idle(wait, '1', info[i + 1]) end
end
