-- Counters: measured rates, and the jobs and bytes of each caller.
-- needs: now

-- Measured rates. A series is one field of the meter, 't0 c0 t1 c1 c': the current count c, and two checkpoints of time
-- (µs) and count. The checkpoints are moved when the younger one is older than METER_WINDOW. So (c - c0) / (now - t0)
-- is the rate over the last one to two windows, or if events are rarer, over the last two events. `key` is the bucket's
-- meter. All series are read and written by one command each: `texts` as they were read, false if missing; `changed` as
-- they are to be written. (A table, because Lua allows 200 local variables; allocated with room for all members.)
local rates = {
  texts = { leak = nil, call = nil, accepted = nil, refused = nil }, changed = { leak = nil, accepted = nil },
  look = nil, read = nil, write = nil, flush = nil, count = nil, restart = nil,
}
do
  -- Parsed series, false for one that is missing.
  local series_read = {}

  function rates.look(key, ...)
    local texts = redis.call('HMGET', key, ...)
    for i = 1, select('#', ...) do rates.texts[select(i, ...)] = texts[i] end
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
    -- Usually the checkpoints aren't moved.
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

-- Starts a measurement again, for a bucket that was empty or paused meanwhile.
function rates.restart(key, series)
  local m = rates.read(key, series) or { c = 0 }
  rates.write(series, { t0 = now_us, c0 = m.c, t1 = now_us, c1 = m.c, c = m.c })
end

-- Adds to a count in a hash. A count that isn't a number, written by hand, begins again at 0.
local function count_up(key, name, more)
  local counted = redis.pcall('HINCRBY', key, name, more)
  if type(counted) == 'number' then return counted end
  -- If the field is a number, there is another reason: repeats the command to raise its error.
  local text = redis.call('HGET', key, name)
  if not text or string.find(text, '^%-?%d+$') and #text < 18 then return redis.call('HINCRBY', key, name, more) end
  redis.call('HSET', key, name, more)
  return tonumber(more)
end

-- The jobs and bytes of each caller: hash `holders`, caller → jobs, and `<caller> bytes` → their bytes (callers contain
-- no spaces), while it has any. Jobs without a caller aren't counted, nor those added by hand, which count 0 bytes.
--
-- By caller, what this script adds; and by field, the values that were read, false if missing.
local held_more, held_found = {}, {}

-- Adds jobs and bytes of a caller, or subtracts them.
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

-- Redis stores a hash of up to 512 fields as a list, which it searches from the start: with a hundred callers that
-- costs more than all else. Writing a long value converts the hash to a table.
local function spread_out(holders)
  local FEW, MOST_IN_LIST, LONG = 128, 512, string.rep('-', 65)
  local fields = redis.call('HLEN', holders)
  if fields < FEW or fields > MOST_IN_LIST then return end
  redis.call('HSET', holders, LONG, LONG)
  redis.call('HDEL', holders, LONG)
end

-- To be called once, at the end. Takes a few commands for any number of callers and jobs.
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
  -- One caller has two fields.
  if count > 0 and redis.call('HSET', holders, unpack(written)) > 2 then spread_out(holders) end
  if #gone > 0 then redis.call('HDEL', holders, unpack(gone)) end
end
