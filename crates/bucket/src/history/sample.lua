-- Adds to a bucket's history what it has counted since the last sample, and what a replica saw of its calls. A call
-- soon after a sample adds only what its replica saw. If nothing happened, nothing is written.
--
-- needs: now, counts, pace, pace_constants, slots, kind/jobs, kind/census
-- KEYS  1 history (hash: `last`, the last sample; each window's open slot under its name, its closed slots under
--       <name>:<number modulo slots>)  2 jobs  3 tally (hash)  4 control (hash)
--       5 pace (hash)  6 meter (hash)  7 dead (stream)  8 outbox (stream), then of a stream throttled (zset),
--       flow-state (hash), parked (zset), flows (zset) and ranges (zset) | of a list its takers (hash)
-- ARGV  1 version of the settings in force (pace.lua)  2 capacity  3 rate in thousandths of a call per second (0: none)
--       4 '1' if it is adaptive  5 what a replica saw: retried, answers and sketches (slots.lua); '': nothing
--       6 the last sample that the caller knows; 'lost': what was counted since the last sample isn't added
--       7 windows, the finest first: name, seconds of a slot, slots
--       8 number and bytes of dead letters from which on no jobs are called ('': none)  9 as 8, of the outbox
-- Result  { 'changed', … } | { the sample: ms, six totals of the tally, six gauges as in slots.lua }
local HISTORY, JOBS, TALLY, CONTROL, PACE, METER = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local DEAD, OUTBOX = KEYS[7], KEYS[8]
local version, capacity, target, adaptive = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
local seen, known, lost = ARGV[5], ARGV[6], ARGV[6] == 'lost'
local dead_full_from, outbox_full_from = ARGV[8], ARGV[9]
local TOTALS = { 'accepted', 'refused', 'delivered', 'dead', 'expired', 'cancelled' }
-- In ms: the minimum time between two samples, and how long the history of a bucket without events is kept.
local SOON, KEPT = 900, 25 * 3600000

local windows, fields = {}, { 'last' }
for name, seconds, slots in string.gmatch(ARGV[7], '(%w+) (%d+) (%d+)') do
  windows[#windows + 1] = { name = name, seconds = tonumber(seconds), slots = tonumber(slots) }
  fields[#fields + 1] = name
end
local kept = redis.call('HMGET', HISTORY, unpack(fields))
for i, window in ipairs(windows) do window.open = kept[i + 1] end

local last = numbers_in(kept[1] or known)
if #last ~= 1 + #TOTALS + GAUGES then last = {} end
-- If the clock was set back, a sample is due.
local is_due = lost or not last[1] or now_ms < last[1] or now_ms - last[1] >= SOON
if not is_due and seen == '' then return { numbers_text(last) } end

-- Returns the events of a series of the meter since its oldest checkpoint not older than MOMENT (µs), 0 without one.
local function recent(series)
  local MOMENT = 15000000
  local m = rates.read(METER, series)
  if not m then return 0 end
  if now_us - m.t0 <= MOMENT then return m.c - m.c0 end
  return now_us - m.t1 <= MOMENT and m.c - m.c1 or 0
end

-- Estimates the sample before the first one of a bucket that is new, or had no jobs for a day: the totals without what
-- the meter has counted recently. The meter doesn't know how jobs ended, so this assumes that most were delivered.
local function look_before(look)
  rates.look(METER, 'accepted', 'refused', 'leak')
  local before, left = { unpack(look) }, { recent('accepted'), recent('refused'), recent('leak') }
  for i = 1, #TOTALS do
    local series = math.min(i, #left)
    local counted = math.min(before[i + 1], left[series])
    before[i + 1], left[series] = before[i + 1] - counted, left[series] - counted
  end
  return before
end

local function is_full(key, bytes, from)
  local most, most_bytes = string.match(from, '^(%d+) (%d+)$')
  return most and (redis.call('XLEN', key) >= tonumber(most) or (bytes or 0) >= tonumber(most_bytes))
end

local look = last
if is_due then
  local changed, paused = control_read(CONTROL, version)
  if changed then return changed end
  local totals, tally = {}, redis.call('HGETALL', TALLY)
  for i = 1, #tally, 2 do
    local name = string.match(tally[i], '^(refused):') or tally[i]
    totals[name] = (totals[name] or 0) + (tonumber(tally[i + 1]) or 0)
  end
  look = { now_ms }
  for i, name in ipairs(TOTALS) do look[i + 1] = totals[name] or 0 end
  local level, pending, holders = count_jobs(JOBS)
  local parked, pace = count_parked(), pace_read(PACE)
  pending = count_claimed(pending, holders, parked)
  local left = adaptive and math.floor(target * pace.speed / PACE_WHOLE) or target
  local stands_still = paused or pace.hold > now_ms or is_full(DEAD, totals.dead_bytes, dead_full_from)
    or is_full(OUTBOX, totals.outbox_bytes, outbox_full_from)
  if stands_still then left = 0 end
  for _, gauge in ipairs({ level - pending, math.max(0, pending - parked), parked, capacity, target, left }) do
    look[#look + 1] = gauge
  end
  if not last[1] and not lost then last = look_before(look) end
end

local numbers, happened = { 0 }, seen ~= ''
for i = 2, 1 + #TOTALS do
  -- A total may be smaller than in the last sample, if Redis has lost a part of it.
  numbers[i] = not lost and math.max(0, look[i] - last[i]) or 0
end
for i = 2, last[1] and #look or 0 do happened = happened or look[i] ~= last[i] end
if not happened then return { numbers_text(look) } end

local slot = read_slot(seen)
for i = 1, COUNTS - #TOTALS do numbers[#numbers + 1] = slot.numbers[i] or 0 end
for i = 2 + #TOTALS, #look do numbers[#numbers + 1] = look[i] end
slot.numbers = numbers
local writes = add_slot(windows, slot, now_ms / 1000)
if is_due then
  writes[#writes + 1] = 'last'
  writes[#writes + 1] = numbers_text(look)
end
redis.call('HSET', HISTORY, unpack(writes))
redis.call('PEXPIRE', HISTORY, KEPT)
return { numbers_text(look) }
