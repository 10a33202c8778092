-- How the rate follows what the upstream bears: cut when it refuses or is late, growing back by itself (pace.lua). Counted in
-- the pace's hash: calls and late (of the calls looked at), from (ms when that began).

-- What a cut leaves of the rate, and the least that any leaves, in thousandths.
local CUT, LEAST = 700, 50
-- One cut within so many ms, and one for all calls that had begun before it.
local BETWEEN = 1000
-- Time-outs cut when they are a fifth of so many calls, or of those within so many ms, but never a few single ones.
local LOOK_CALLS, LOOK_MS, FEW = 50, 30000, 5

local function cut(key, pace, why, hold)
  if now_ms - pace.cut < BETWEEN then return end
  local speed = math.max(LEAST, math.floor(pace.speed * CUT / PACE_WHOLE))
  redis.call('HSET', key, 'speed', speed, 'cut', whole(now_ms), 'grows', whole(now_ms + hold), 'why', why)
  redis.call('HDEL', key, 'calls', 'late', 'from')
end

local function look_at_timeouts(key, pace, calls, late)
  local s = redis.call('HMGET', key, 'calls', 'late', 'from')
  calls, late = calls + (tonumber(s[1]) or 0), late + (tonumber(s[2]) or 0)
  local from = math.min(tonumber(s[3]) or now_ms, now_ms)
  if calls < LOOK_CALLS and now_ms - from < LOOK_MS then
    redis.call('HSET', key, 'calls', calls, 'late', late, 'from', whole(from))
    return
  end
  redis.call('HDEL', key, 'calls', 'late', 'from')
  if late >= FEW and late * 5 >= calls then cut(key, pace, 'timeouts', 0) end
end

-- `calls`: how the upstream took each ('answered', 'refused', 'late') and when its job was taken. `hold` in ms.
local function adapt(key, calls, hold)
  local pace = pace_read(key)
  local count, late, refused = 0, 0, false
  for _, call in ipairs(calls) do
    if call.at > pace.cut then
      count = count + 1
      if call.taken == 'late' then late = late + 1 end
      refused = refused or call.taken == 'refused'
    end
  end
  if refused then
    cut(key, pace, 'refusals', hold)
  elseif count > 0 then
    look_at_timeouts(key, pace, count, late)
  end
end
