-- The adaptive rate: reduced to the share of calls that the upstream accepts, it grows back over time (pace_read). The
-- hash of the pace counts since the last reduction, with decay: calls, refused and late; from: ms of the last decay.
-- needs: now, pace_constants, pace

-- A refusal reduces the rate if more than a twentieth of the calls are refused: an upstream may refuse a few because of
-- other clients. Timeouts reduce it if they are at least a fifth of the calls, and at least FEW.
local REFUSED, LATE, FEW = 20, 5, 5
-- The counts are halved every this many ms, but not to fewer than this many calls.
local FADES, REMEMBERED = 1000, 50
-- The minimum, in thousandths, that one reduction leaves of the rate, and that all of them leave.
local CUT, LEAST = 700, 50
-- At most one reduction within this many ms. Calls that had begun before a reduction cause no other one.
local BETWEEN = 1000

local function cut(key, pace, share, why, hold)
  local left = math.max(CUT, math.floor(PACE_WHOLE * (1 - share)))
  local speed = math.max(LEAST, math.floor(pace.speed * left / PACE_WHOLE))
  redis.call('HSET', key, 'speed', speed, 'cut', whole(now_ms), 'grows', whole(now_ms + hold), 'why', why)
  redis.call('HDEL', key, 'calls', 'refused', 'late', 'from')
end

-- The decayed counts of earlier calls.
local function remembered(key)
  local s = redis.call('HMGET', key, 'calls', 'refused', 'late', 'from')
  local calls, from = tonumber(s[1]) or 0, tonumber(s[4]) or now_ms
  local fade = 1
  if now_ms - from >= FADES or from > now_ms then
    fade = math.min(1, math.max(0.5, REMEMBERED / calls))
    from = now_ms
  end
  local refused, late = tonumber(s[2]) or 0, tonumber(s[3]) or 0
  return { calls = calls * fade, refused = refused * fade, late = late * fade, from = from }
end

local function remember(key, seen)
  redis.call('HSET', key, 'calls', seen.calls, 'refused', seen.refused, 'late', seen.late, 'from', whole(seen.from))
end

-- `calls`: for each call the reaction of the upstream (REFUSED_CALL, LATE_CALL or another word) and the ms at which its
-- job was taken, with a space behind each. `hold`: throttle in ms.
local function adapt(key, calls, hold)
  local pace = pace_read(key)
  local seen, last_cut = remembered(key), pace.cut or 0
  local refused, late = seen.refused, seen.late
  for reaction, taken_ms in string.gmatch(calls, '(%l+) (%d+) ') do
    if tonumber(taken_ms) > last_cut then
      seen.calls = seen.calls + 1
      if reaction == LATE_CALL then seen.late = seen.late + 1 end
      if reaction == REFUSED_CALL then seen.refused = seen.refused + 1 end
    end
  end
  remember(key, seen)
  if now_ms - last_cut < BETWEEN then return end
  if seen.refused > refused and seen.refused * REFUSED > seen.calls then
    cut(key, pace, seen.refused / seen.calls, 'refusals', hold)
  elseif seen.late > late and seen.late >= FEW and seen.late * LATE >= seen.calls then
    cut(key, pace, seen.late / seen.calls, CUT_FOR_TIMEOUTS, 0)
  end
end
