-- The Redis clock, read once per script: whole microseconds, and milliseconds rounded down.
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now_ms = math.floor(now_us / 1000)

-- A number as text, rounded. Lua's own conversion prints large numbers as 1.7e+15. '%d' takes a third of the time of
-- '%.0f', but only supports integers.
local function whole(number)
  return string.format(number % 1 == 0 and number * number < 2 ^ 106 and '%d' or '%.0f', number)
end

-- The value of a field in a stream entry's flat list of names and values; nil when absent or empty.
local function field(entry, name)
  for i = 1, #entry, 2 do
    if entry[i] == name then
      if entry[i + 1] ~= '' then return entry[i + 1] end
      return nil
    end
  end
  return nil
end

-- Maximum bytes of a caller. Callers of dripfeed are shorter; those written by hand are truncated, so that records and
-- pages stay small.
local LONGEST_CALLER = 256

-- Truncates a caller, but not within a UTF-8 character.
local function cut_caller(caller)
  local kept = LONGEST_CALLER
  while kept > LONGEST_CALLER - 3 and math.floor((string.byte(caller, kept + 1) or 0) / 64) == 2 do kept = kept - 1 end
  return string.sub(caller, 1, kept)
end
