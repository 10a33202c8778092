-- Stream kind: the text of a range of a flow (flows.lua): `first last jobs`.

-- Pads an id with zeros, so that texts sort like ids. XRANGE reads it as the same id.
local function padded(id)
  local MS, SEQ, DASH, sub = '0000000000000', '000000', 45, string.sub
  -- Current times have 13 digits.
  if string.byte(id, 14) == DASH then return sub(id, 1, 14) .. sub(SEQ, #id - 13) .. sub(id, 15) end
  local dash = string.find(id, '-', 1, true) or 0
  local ms, seq = sub(id, 1, dash), sub(id, dash + 1)
  return sub(MS, #ms) .. ms .. sub(SEQ, #seq + 1) .. seq
end

-- The text of a range.
local function range_of(first, last, jobs)
  -- Most have one job, and Lua is slow to convert a number.
  return padded(first) .. ' ' .. last .. (jobs == 1 and ' 1' or ' ' .. jobs)
end

local function read_range(range)
  return string.match(range, '^(%S+) (%S+) (%d+)$')
end

-- The id of the only job of a range; nil if it has several, or is a rest. Without a pattern, which takes three times as
-- long, because with many callers most ranges have one job.
local function lone_job(range)
  -- Indices: of the second id, which follows a padded one, and of its end.
  local FIRST, LAST, SPACE, sub = 22, -3, 32, string.sub
  if sub(range, LAST + 1) ~= ' 1' or string.byte(range, FIRST - 1) ~= SPACE then return nil end
  local id = sub(range, FIRST, LAST)
  return padded(id) == sub(range, 1, FIRST - 2) and id or nil
end
