-- Pace and take: as many jobs as the pace, the hold and the room in flight allow. A job whose deadline has passed ends as
-- expired and costs no token.
--
-- KEYS  1 jobs  2 pace (hash)  3 meter (hash)  4 tally (hash)  5 control (hash)  6 replicas (hash)  7 outcomes (hash)
--       8 ended (zset)  9 takes (hash: consumer → number of the take up to which those that arrive late take nothing)
--       10 holders (hash), then the kind's, as in settle.lua
-- ARGV  1 version of what is in force (control.lua)  2 consumer  3 the most jobs wanted
--       4 calls and 5 µs of the rate (0: none)  6 burst  7 max in flight (0: none)
--       8 µs since this replica joined or last asked, by its own clock, which nobody sets
--       9 ms to keep outcomes  10 the most outcomes  11 the longest hold in ms  12 number of this take
-- Result  { 'fenced' } | { 'changed', … }
--         { 'idle', µs until it is worth asking again, '1' when a new entry would be taken at once, last id, expired }
--         { 'jobs', expired, { id, fields | element, failed attempts }… }
local keys = { jobs = KEYS[1], meter = KEYS[3], tally = KEYS[4], outcomes = KEYS[7], ended = KEYS[8], holders = KEYS[10] }
local PACE, CONTROL, REPLICAS, TAKES = KEYS[2], KEYS[5], KEYS[6], KEYS[9]
local consumer, want = ARGV[2], tonumber(ARGV[3])
local force = { limit = tonumber(ARGV[4]), period = tonumber(ARGV[5]), burst = tonumber(ARGV[6]) }
local max_in_flight = tonumber(ARGV[7])

if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return { 'fenced' } end

-- Nobody waits for this one any more: what it took, nobody would call.
local given_up = tonumber(redis.call('HGET', TAKES, consumer) or 0)
if tonumber(ARGV[12]) <= given_up then return { 'idle', 0, '0', '0-0', 0 } end

local changed, paused = control_read(CONTROL, ARGV[1])
if changed then return changed end
local IDLE_POLL, PAUSE_POLL, ROOM_POLL, BATCHING = 1000000, 200000, 25000, 5000

local pace = pace_read(PACE)
local full = pace_full(force.limit, force.period, force.burst)
local level = force.limit > 0 and pace_level(pace, force.limit, force.period, force.burst, tonumber(ARGV[8])) or 0

-- The pace is brought up to date at every question, so that what has passed since the last one bounds what has leaked since.
local function idle(wait, last_id, expired)
  -- At maxmemory this write is refused; then the next one counts from an older time, by a clock that runs from this one.
  if force.limit > 0 then pcall(pace_write, PACE, level, force.limit, force.period) end
  wait = math.min(wait, IDLE_POLL)
  return { 'idle', whole(wait), last_id and '1' or '0', last_id or '0-0', expired or 0 }
end

if paused then return idle(PAUSE_POLL) end

local held = pace.hold * 1000 - now_us
-- A hold longer than any that is set comes from a clock that was put back since.
if held > 0 and held <= tonumber(ARGV[11]) * 1000 then return idle(held) end

local flying = count_in_flight(keys.jobs)
if max_in_flight > 0 then
  local room = max_in_flight - flying
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

local taken, expired, wait, last_id = hand_out(keys, consumer, want)
if expired > 0 then
  departed(keys, expired)
  forget_outcomes(keys, tonumber(ARGV[9]), tonumber(ARGV[10]))
end
if force.limit > 0 then pace_write(PACE, level + #taken * force.period, force.limit, force.period) end
if #taken > 0 then return { 'jobs', expired, unpack(taken) } end
return idle(wait, last_id, expired)
