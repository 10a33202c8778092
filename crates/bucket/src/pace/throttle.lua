-- How long the bucket is still throttled, in µs, by the time that really passes. While it is, the pace has besides
--   looked  ms when a script last looked at the throttle
-- which shows that the Redis clock was set since: put back, it is behind; put forward, it is further than what has
-- passed since this replica last asked, `elapsed` in µs, by a clock that nobody sets. The end of the throttle then
-- moves with the clock. A step that a slow network could explain isn't seen; it is shorter than a second.
-- needs: now
local CLOCK_STEP = 1000

local function hold_left(key, pace, elapsed)
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
