-- Rates as they are measured. A series is one hash field 't0 c0 t1 c1 c': the count c now, and two checkpoints of time
-- (µs) and count. The checkpoints move on when the younger one is older than METER_WINDOW, so that (c - c0) / (now -
-- t0) is the rate over the last one to two windows, or, where events are rarer than that, over the last two events.
-- needs: now
local METER_WINDOW = 5000000
-- Of the bucket's meter, as they were read or written last.
local meter_series = {}

local function meter_read(key, series)
  if meter_series[series] ~= nil then return meter_series[series] or nil end
  local text = redis.call('HGET', key, series)
  local t0, c0, t1, c1, c = string.match(text or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  meter_series[series] = t0
    and { t0 = tonumber(t0), c0 = tonumber(c0), t1 = tonumber(t1), c1 = tonumber(c1), c = tonumber(c) } or false
  return meter_series[series] or nil
end

local function meter_write(key, series, m)
  local text = table.concat({ whole(m.t0), whole(m.c0), whole(m.t1), whole(m.c1), whole(m.c) }, ' ')
  redis.call('HSET', key, series, text)
  meter_series[series] = m
end

local function meter_count(key, series, events)
  local m = meter_read(key, series) or { t0 = now_us, c0 = 0, t1 = now_us, c1 = 0, c = 0 }
  -- A clock that was set back starts the measurement again.
  if now_us < m.t1 then m.t0, m.c0, m.t1, m.c1 = now_us, m.c, now_us, m.c end
  if now_us - m.t1 >= METER_WINDOW then m.t0, m.c0, m.t1, m.c1 = m.t1, m.c1, now_us, m.c end
  m.c = m.c + events
  meter_write(key, series, m)
end

-- A bucket that was empty begins to leak again: what it did before says nothing about now.
local function meter_restart(key, series)
  local m = meter_read(key, series) or { c = 0 }
  meter_write(key, series, { t0 = now_us, c0 = m.c, t1 = now_us, c1 = m.c, c = m.c })
end
