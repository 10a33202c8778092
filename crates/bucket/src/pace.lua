-- The pace: a leaky bucket of calls (limits.md, kind `bucket`; the same rule as GCRA and the token bucket).
-- State (hash): level, in microseconds·calls; last, µs of the Redis clock; limit and period that the level was counted in;
-- hold, ms until which an upstream asked everyone to wait.
--
-- A state that is missing was lost, so it counts as full: never as a burst to spend.

local function pace_read(key)
  local s = redis.call('HMGET', key, 'level', 'last', 'limit', 'period', 'hold')
  return {
    level = tonumber(s[1]), last = tonumber(s[2]), limit = tonumber(s[3]), period = tonumber(s[4]),
    hold = tonumber(s[5]) or 0,
  }
end

-- A call comes to the upstream a little after its token was got, one later than the other: late ones and prompt ones behind
-- them are closer together than their tokens. The burst keeps room for so many µs of that, so that the upstream sees the
-- ceiling too. What would be much later isn't sent (take.rs, PROMPT).
local PACE_LATE = 25000

-- The level at which there is no token left. With a burst of 1 there is no room to keep; and where a token comes so seldom
-- that lateness is nothing to it, none is kept.
local function pace_full(limit, period, burst)
  local late = limit * PACE_LATE
  if late * 100 < period then late = 0 end
  return math.max(period, burst * period - late)
end

-- The level now. `elapsed` is the most that can have passed since `last` by a clock that isn't set (nil: unknown): a Redis
-- clock that was put forward doesn't make tokens. One that was put back loses only the time it was wrong.
local function pace_level(state, limit, period, burst, elapsed)
  local full = pace_full(limit, period, burst)
  if not state.level then return full end
  local level = state.level
  -- Another rate: what was consumed stays consumed, counted in calls.
  if state.period ~= period then level = math.ceil(level * period / state.period) end
  local passed = math.max(0, now_us - state.last)
  if elapsed and elapsed < passed then passed = elapsed end
  -- Long quiet times need no exact product.
  if passed * limit >= level then return 0 end
  return math.min(full, level - passed * limit)
end

local function pace_write(key, level, limit, period)
  redis.call('HSET', key, 'level', whole(level), 'last', whole(now_us), 'limit', whole(limit), 'period', whole(period))
end
