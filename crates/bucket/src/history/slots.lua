-- The slots of a history, which slot.rs reads. The text of a slot has four parts, joined by '|':
--   its numbers: the number of the slot (slots of its length since the epoch); 13 counts: accepted, refused, delivered,
--     dead, expired, cancelled, retried, and answers of the upstream: 2xx, 3xx, 4xx, 429, 5xx, none; 6 gauges of the
--     last sample: waiting, in flight, parked, capacity, and in thousandths of a call per second the rate (0: none is
--     set) and the effective rate
--   and three sketches (latency_sketch.rs) of how long jobs waited for a call, how long calls took, and how long it
--     took from acceptance to delivery: the first range with a count, and the counts from there on. A closed slot has
--     the ranges of p50, p95 and p99 instead.
-- needs: now
local COUNTS, GAUGES = 13, 6
local PERCENTS = { 50, 95, 99 }

local function numbers_in(text)
  local numbers = {}
  for number in string.gmatch(text, '%d+') do numbers[#numbers + 1] = tonumber(number) end
  return numbers
end

local function read_slot(text)
  local parts = {}
  for part in string.gmatch(text .. '|', '([^|]*)|') do parts[#parts + 1] = numbers_in(part) end
  return { numbers = parts[1], sketches = { parts[2] or {}, parts[3] or {}, parts[4] or {} } }
end

-- The text that `numbers_in` reads. (table.concat alone would write 10^14 as 1e+14.)
local function numbers_text(numbers)
  local words = {}
  for i, number in ipairs(numbers) do words[i] = whole(number) end
  return table.concat(words, ' ')
end

local function slot_text(numbers, lists)
  local parts = { numbers_text(numbers) }
  for i = 1, 3 do parts[i + 1] = numbers_text(lists[i]) end
  return table.concat(parts, '|')
end

local function count_in(sketch, range)
  local at = range - sketch[1]
  return at >= 0 and sketch[at + 2] or 0
end

local function merged(one, other)
  if not one[1] then return other end
  if not other[1] then return one end
  local first, last = math.min(one[1], other[1]), math.max(one[1] + #one, other[1] + #other) - 2
  local sketch = { first }
  for range = first, last do sketch[#sketch + 1] = count_in(one, range) + count_in(other, range) end
  return sketch
end

-- The ranges of the percentiles, by nearest rank. Empty without measurements.
local function percentiles(sketch)
  local all, found, at, seen = 0, {}, 1, 0
  for i = 2, #sketch do all = all + sketch[i] end
  if all == 0 then return found end
  for i, percent in ipairs(PERCENTS) do
    while seen < math.ceil(all * percent / 100) do
      at = at + 1
      seen = seen + sketch[at]
    end
    found[i] = sketch[1] + at - 2
  end
  return found
end

local function closed_text(slot)
  local lists = {}
  for i = 1, 3 do lists[i] = percentiles(slot.sketches[i]) end
  return slot_text(slot.numbers, lists)
end

local function add_to(open, slot)
  for i = 2, COUNTS + 1 do open.numbers[i] = open.numbers[i] + slot.numbers[i] end
  for i = COUNTS + 2, COUNTS + 1 + GAUGES do open.numbers[i] = slot.numbers[i] end
  for i = 1, 3 do open.sketches[i] = merged(open.sketches[i], slot.sketches[i]) end
end

-- Parses the open slot of a window. Returns nil if it doesn't exist, or was written by hand and isn't a slot.
local function open_slot(text)
  local slot = text and read_slot(text)
  return slot and #slot.numbers == COUNTS + 1 + GAUGES and slot or nil
end

-- Adds a slot that begins at `from` (s since the epoch) to the first window. If the open slot of a window has another
-- number, it is closed, and added to the next window. A window has { name, seconds of a slot, slots, text of its open
-- slot }. Returns the names and values of the fields to be written.
local function add_slot(windows, slot, from)
  local fields = {}
  for _, window in ipairs(windows) do
    local number = math.floor(from / window.seconds)
    local open, closed = open_slot(window.open), nil
    if open and open.numbers[1] ~= number then open, closed = nil, open end
    if closed then
      fields[#fields + 1] = window.name .. ':' .. closed.numbers[1] % window.slots
      fields[#fields + 1] = closed_text(closed)
      from = closed.numbers[1] * window.seconds
    end
    if open then add_to(open, slot) else open = slot end
    open.numbers[1] = number
    fields[#fields + 1] = window.name
    fields[#fields + 1] = slot_text(open.numbers, open.sketches)
    if not closed then break end
    slot = closed
  end
  return fields
end
