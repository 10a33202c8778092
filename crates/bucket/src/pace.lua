-- The pace, at which jobs are called unless the bucket is paused: a plan of limits, and a hash with
--   hold   ms until which an upstream asked everyone to wait
--   new    '1' when there was no pace yet, so one that is set begins with nothing consumed. Where a pace has no state
--          and isn't new, its state was lost, and what was lost counts as used up: never as a burst to spend
--   speed  thousandths of the rate that the last cut left; missing: none was cut
--   cut    ms when it was cut;  why: 'refusals' or 'timeouts';  grows: ms from which on it grows back
--   unsent  µs until which calls that were granted may still be made; kept where that may be after the end of their
--          window
--   weights  a print of those by which turns were last taken; missing, or empty: all were 1 (weights.lua)
--   flows  whether jobs in flight are counted by caller (flow_state.lua); missing: nobody is throttled alone
--   mixed  '1' while jobs with a delay, a group or a priority may be in the bucket: then those of one caller don't all
--          wait in one flow
-- needs: now, pace_constants, rules/pace

-- What is in force is given to a script in its ARGV, with the version of the changes (hash `control`) that it takes
-- account of. Where that is another by now, the script does nothing and answers the changes, and is asked again
-- (redis_bucket.rs). The answer, when something was changed; whether the bucket is paused.
local function control_read(key, version)
  local c = redis.call('HMGET', key, 'version', 'paused')
  if (c[1] or '') ~= version then return { 'changed', redis.call('HGETALL', key) } end
  return nil, c[2] == '1'
end

local function pace_read(key)
  -- In how many ms a thousandth grows back: half of the rate in less than a minute.
  local PACE_GROWTH = 100
  local s = redis.call(
    'HMGET', key, 'hold', 'new', 'speed', 'cut', 'grows', 'why', 'unsent', 'flows', 'weights', 'mixed'
  )
  local pace = {
    hold = tonumber(s[1]) or 0, new = s[2] == '1',
    speed = PACE_WHOLE, cut = tonumber(s[4]) or 0, grows = tonumber(s[5]) or 0, why = s[6] or '',
    unsent = tonumber(s[7]) or 0, flows = s[8] or nil, weights = s[9] or '', is_mixed = s[10] == '1',
  }
  -- A clock that was put back since knows nothing of when that was.
  if pace.cut > now_ms then pace.cut = 0 end
  if pace.unsent > now_us + PACE_LATEST then pace.unsent = 0 end
  if s[3] then
    local grown = math.floor(math.max(0, now_ms - pace.grows) / PACE_GROWTH)
    pace.speed = math.min(PACE_WHOLE, tonumber(s[3]) + grown)
  end
  return pace
end

-- A job comes into the bucket that may have a delay, a group or a priority: each may be nil.
local function note_mixed(key, pace, due, group, priority)
  if pace.is_mixed or not (due or group or priority) then return end
  redis.call('HSET', key, 'mixed', 1)
  pace.is_mixed = true
end

-- Calls that may be made now; when none, µs until one may; and µs in which the first tier refills. `elapsed` is the
-- most that can have passed since this replica last asked, by a clock that isn't set, and `asked` what the Redis clock
-- was then: one that was put forward doesn't make tokens. One that was put back loses only the time it was wrong.
-- `late`, `undrained` in µs as in permit.rs: how late the calls may be made that are granted now.
local function pace_room(pace, plan, elapsed, asked, late, undrained)
  if plan == '' then return math.huge, 0, math.huge end
  local room, wait, refill, crosses = limit_room(plan, {
    elapsed = elapsed, asked = asked, begins = pace.new, speed = pace.speed,
    late = late, undrained = undrained, unsent = pace.unsent,
  })
  if crosses then pace.unsent_after = now_us + late end
  return room, wait, refill
end

-- Writes what was spent, and that time has passed until now.
local function pace_spend(key, pace, plan, calls)
  if plan ~= '' then
    limit_spend(plan, calls)
    limit_flush()
    if pace.new then redis.call('HDEL', key, 'new') end
    if calls > 0 and pace.unsent_after and pace.unsent_after > pace.unsent then
      redis.call('HSET', key, 'unsent', whole(pace.unsent_after))
    end
  elseif not pace.new then
    redis.call('HSET', key, 'new', 1)
  end
end

-- How long the bucket is still throttled, in µs, by the time that really passes. While it is, the pace has besides
--   looked  ms when a script last looked at the throttle
-- which shows that the Redis clock was set since: put back, it is behind; put forward, it is further than what has
-- passed since this replica last asked, `elapsed` in µs, by a clock that nobody sets. The end of the throttle then
-- moves with the clock. A step that a slow network could explain isn't seen; it is shorter than a second.
local function hold_left(key, pace, elapsed)
  local CLOCK_STEP = 1000
  if pace.hold == 0 then return 0 end
  local passed = now_ms - (tonumber(redis.call('HGET', key, 'looked')) or now_ms)
  local since_asked = elapsed / 1000
  if passed < 0 then
    pace.hold = pace.hold + passed
  elseif passed > since_asked + CLOCK_STEP then
    pace.hold = pace.hold + passed - since_asked
  end
  if pace.hold <= now_ms then
    redis.call('HDEL', key, 'hold', 'looked')
    pace.hold = 0
    return 0
  end
  redis.call('HSET', key, 'hold', whole(pace.hold), 'looked', whole(now_ms))
  return (pace.hold - now_ms) * 1000
end
