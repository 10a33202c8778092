-- The throttle that an upstream asked for. It follows real time, even if the Redis clock is set. While a bucket is
-- throttled, the pace has in addition to `hold`
--   looked  ms when a script last checked the throttle
-- If the clock was set since then, no time is counted for the interval: so the throttle doesn't end before the upstream
-- allows it, and is late by at most the time between two checks. A step of less than a second isn't detected, as it
-- could be a slow network.
-- needs: now

-- In ms: a smaller difference isn't treated as a step of the clock.
local CLOCK_STEP = 1000
-- In µs: replicas with room for a job take at least once within it.
local IDLE_POLL = 1000000

-- ms by the Redis clock since a script last checked the throttle.
local function since_look(looked)
  return now_ms - (tonumber(looked) or now_ms)
end

-- Returns `hold` in ms, moved with a clock that was set back, or forward (`is_ahead`).
local function moved_hold(hold, passed, is_ahead)
  return (passed < 0 or is_ahead) and hold + passed or hold
end

-- Returns the remaining throttle in µs. The clock was set forward if it advanced by more than `elapsed`: µs since this
-- replica's last take, by its monotonic clock. `asked`: the Redis clock at that take, in µs, or nil.
local function throttle_left(key, pace, elapsed, asked)
  if pace.hold == 0 then return 0 end
  local passed = since_look(redis.call('HGET', key, 'looked'))
  local by_redis = asked and (now_us - asked) / 1000 or passed
  pace.hold = moved_hold(pace.hold, passed, by_redis > elapsed / 1000 + CLOCK_STEP)
  if pace.hold <= now_ms then
    redis.call('HDEL', key, 'hold', 'looked')
    pace.hold = 0
    return 0
  end
  redis.call('HSET', key, 'hold', whole(pace.hold), 'looked', whole(now_ms))
  return (pace.hold - now_ms) * 1000
end
