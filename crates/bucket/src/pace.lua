-- The pace: a plan of limits, and a hash with
--   hold   ms until which an upstream asked everyone to wait
--   new    '1' when there was no pace yet, so one that is set begins with nothing consumed. Where a pace has no state
--   and isn't
--          new, its state was lost, and what was lost counts as used up: never as a burst to spend
--   speed  thousandths of the rate that the last cut left; missing: none was cut
--   cut    ms when it was cut;  why: 'refusals' or 'timeouts';  grows: ms from which on it grows back
--   unsent  µs until which calls that were granted may still be made; kept where that may be after the end of their
--   window
-- needs: now, pace_constants
-- In how many ms a thousandth grows back: half of the rate in less than a minute.
local PACE_GROWTH = 100

local function pace_read(key)
  local s = redis.call('HMGET', key, 'hold', 'new', 'speed', 'cut', 'grows', 'why', 'unsent')
  local pace = {
    hold = tonumber(s[1]) or 0, new = s[2] == '1',
    speed = PACE_WHOLE, cut = tonumber(s[4]) or 0, grows = tonumber(s[5]) or 0, why = s[6] or '',
    unsent = tonumber(s[7]) or 0,
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
