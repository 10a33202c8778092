-- What is counted as jobs come and go: rates, and what each caller has in the bucket.
-- needs: now

-- Rates as they are measured. A series is one hash field 't0 c0 t1 c1 c': the count c now, and two checkpoints of time
-- (µs) and count. The checkpoints move on when the younger one is older than METER_WINDOW, so that (c - c0) / (now -
-- t0) is the rate over the last one to two windows, or, where events are rarer than that, over the last two events.
-- Of the bucket's meter, `key`. Its fields are read and written by one command for all of them: `texts` as they were
-- read, false for one that is missing; `changed` as they are to be written. (Fields, as a script has no room for more
-- than 200 names. There is room for them from the start, as growing costs more than most calls.)
local rates = {
  texts = { leak = nil, call = nil, accepted = nil, refused = nil }, changed = { leak = nil, accepted = nil },
  look = nil, read = nil, write = nil, flush = nil, count = nil, restart = nil,
}
do
  -- Those that were read, false for one that is missing.
  local series_read = {}

  function rates.look(key, ...)
    local found = redis.call('HMGET', key, ...)
    for i = 1, select('#', ...) do rates.texts[select(i, ...)] = found[i] end
  end

  function rates.read(key, series)
    if series_read[series] ~= nil then return series_read[series] or nil end
    if rates.texts[series] == nil then rates.look(key, series) end
    local t0, c0, t1, c1, c = string.match(rates.texts[series] or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
    series_read[series] = t0
      and { t0 = tonumber(t0), c0 = tonumber(c0), t1 = tonumber(t1), c1 = tonumber(c1), c = tonumber(c) } or false
    return series_read[series] or nil
  end

  function rates.write(series, m)
    local text = string.format('%d %d %d %d %d', m.t0, m.c0, m.t1, m.c1, m.c)
    rates.texts[series], rates.changed[series], series_read[series] = text, text, m
  end

  function rates.count(key, series, events)
    local METER_WINDOW = 5000000
    if rates.texts[series] == nil then rates.look(key, series) end
    -- Mostly the checkpoints stay as they are.
    local checkpoints, t1, c = string.match(rates.texts[series] or '', '^(%d+ %d+ (%d+) %d+) (%d+)$')
    local age = checkpoints and now_us - t1
    if age and age >= 0 and age < METER_WINDOW then
      local text = checkpoints .. ' ' .. whole(c + events)
      rates.texts[series], rates.changed[series], series_read[series] = text, text, nil
      return
    end
    local m = rates.read(key, series) or { t0 = now_us, c0 = 0, t1 = now_us, c1 = 0, c = 0 }
    -- A clock that was set back starts the measurement again.
    if now_us < m.t1 then m.t0, m.c0, m.t1, m.c1 = now_us, m.c, now_us, m.c end
    if now_us - m.t1 >= METER_WINDOW then m.t0, m.c0, m.t1, m.c1 = m.t1, m.c1, now_us, m.c end
    m.c = m.c + events
    rates.write(series, m)
  end
end

-- To be called last.
function rates.flush(key)
  local words = {}
  for series, text in pairs(rates.changed) do words[#words + 1], words[#words + 2] = series, text end
  if #words > 0 then redis.call('HSET', key, unpack(words)) end
  rates.changed = {}
end

-- A bucket that leaked nothing, being empty or paused, begins again: what it did before says nothing about now.
function rates.restart(key, series)
  local m = rates.read(key, series) or { c = 0 }
  rates.write(series, { t0 = now_us, c0 = m.c, t1 = now_us, c1 = m.c, c = m.c })
end

-- Adds to a count in a hash. One that is no number, as somebody has written it by hand, begins again.
local function count_up(key, name, more)
  local counted = redis.pcall('HINCRBY', key, name, more)
  if type(counted) == 'number' then return counted end
  -- For any other reason it fails again.
  local text = redis.call('HGET', key, name)
  if not text or string.find(text, '^%-?%d+$') and #text < 18 then return redis.call('HINCRBY', key, name, more) end
  redis.call('HSET', key, name, more)
  return tonumber(more)
end

-- What each caller has in the bucket: hash `holders`, caller → jobs, and `<caller> bytes` → their bytes (no caller has
-- a space in it), each only while there are some. A job without a caller is nobody's, nor is one that counts no bytes:
-- somebody added it by hand.
--
-- What this script adds, by caller; and by field what there was when it began, false where it is missing, of the
-- callers that were looked for.
local held_more, held_found = {}, {}

-- Jobs and bytes more for a caller, or less.
local function count_held(caller, jobs, bytes)
  if not caller or caller == '' then return end
  local more = held_more[caller] or { jobs = 0, bytes = 0 }
  more.jobs, more.bytes = more.jobs + jobs, more.bytes + bytes
  held_more[caller] = more
end

local function bytes_of(caller)
  return caller .. ' bytes'
end

local function find_held(holders, callers)
  local fields = {}
  for i, caller in ipairs(callers) do
    fields[2 * i - 1], fields[2 * i] = caller, bytes_of(caller)
  end
  for i, found in ipairs(redis.call('HMGET', holders, unpack(fields))) do held_found[fields[i]] = found end
end

-- Redis keeps a hash of up to 512 fields as a list, and looks for each field from the first one on: with a hundred
-- callers that costs more than all else. A long value makes it a table for as long as it is there.
local function spread_out(holders)
  local FEW, MOST_IN_LIST, LONG = 128, 512, string.rep('-', 65)
  local fields = redis.call('HLEN', holders)
  if fields < FEW or fields > MOST_IN_LIST then return end
  redis.call('HSET', holders, LONG, LONG)
  redis.call('HDEL', holders, LONG)
end

-- To be called once, last: a few commands, however many callers and jobs.
local function write_holders(holders)
  local unknown, written, gone, count = {}, {}, {}, 0
  for caller in pairs(held_more) do
    if held_found[caller] == nil then unknown[#unknown + 1] = caller end
  end
  if #unknown > 0 then find_held(holders, unknown) end

  local function add(field, more)
    if more == 0 then return end
    local found = held_found[field]
    local held = found and (tonumber(found) or 0) + more or more
    if held < 1 then
      gone[#gone + 1] = field
    else
      written[count + 1], written[count + 2] = field, whole(held)
      count = count + 2
    end
  end

  for caller, more in pairs(held_more) do
    add(caller, more.jobs)
    add(bytes_of(caller), more.bytes)
  end
  -- Of one caller there are two.
  if count > 0 and redis.call('HSET', holders, unpack(written)) > 2 then spread_out(holders) end
  if #gone > 0 then redis.call('HDEL', holders, unpack(gone)) end
end
