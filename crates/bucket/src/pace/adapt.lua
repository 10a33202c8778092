-- How the rate follows what the upstream bears: cut to the share of calls that it takes, growing back on its own, as
-- pace_read reads it. Counted in the pace's hash: calls, refused and late, since the last cut and faded; from: ms of
-- the last fading.
-- needs: now, pace_constants, pace

-- A refusal cuts when more than a twentieth of the calls are refused: an upstream that refuses one from time to time,
-- for what others do, bears the rate. Time-outs cut when they are a fifth, but never a few single ones.
local REFUSED, LATE, FEW = 20, 5, 5
-- Once in this many ms half of what was counted is forgotten, but never so much that fewer calls are left.
local FADES, REMEMBERED = 1000, 50
-- The least that one cut leaves of the rate, and that all of them leave, in thousandths.
local CUT, LEAST = 700, 50
-- One cut within this many ms, and one for all calls that had begun before it.
local BETWEEN = 1000

local function cut(key, pace, share, why, hold)
  local left = math.max(CUT, math.floor(PACE_WHOLE * (1 - share)))
  local speed = math.max(LEAST, math.floor(pace.speed * left / PACE_WHOLE))
  redis.call('HSET', key, 'speed', speed, 'cut', whole(now_ms), 'grows', whole(now_ms + hold), 'why', why)
  redis.call('HDEL', key, 'calls', 'refused', 'late', 'from')
end

-- What is remembered of earlier calls.
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

-- `calls`: of each, how the upstream took it (REFUSED_CALL, LATE_CALL or another word) and the ms at which its job was
-- taken, with a space behind each. `hold` in ms.
local function adapt(key, calls, hold)
  local pace = pace_read(key)
  local seen, last_cut = remembered(key), pace.cut or 0
  local refused, late = seen.refused, seen.late
  for taken, at in string.gmatch(calls, '(%l+) (%d+) ') do
    if tonumber(at) > last_cut then
      seen.calls = seen.calls + 1
      if taken == LATE_CALL then seen.late = seen.late + 1 end
      if taken == REFUSED_CALL then seen.refused = seen.refused + 1 end
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
