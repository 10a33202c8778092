-- Stream kind: the ranges of flows (flows.lua) as they are written. Each is `first last jobs`.

-- Sorts as ids do, and XRANGE reads it as the same id.
local function padded(id)
  local MS, SEQ, DASH, sub = '0000000000000', '000000', 45, string.sub
  -- Today's have as many digits.
  if string.byte(id, 14) == DASH then return sub(id, 1, 14) .. sub(SEQ, #id - 13) .. sub(id, 15) end
  local dash = string.find(id, '-', 1, true) or 0
  local ms, seq = sub(id, 1, dash), sub(id, dash + 1)
  return sub(MS, #ms) .. ms .. sub(SEQ, #seq + 1) .. seq
end

-- What is to be written of one range: from where, to where, and how many jobs, as in `read_range`.
local function range_of(first, last, jobs)
  -- Lua takes long to write a number, and mostly it is one.
  return padded(first) .. ' ' .. last .. (jobs == 1 and ' 1' or ' ' .. jobs)
end

local function read_range(range)
  return string.match(range, '^(%S+) (%S+) (%d+)$')
end

-- The job of a range that has no other one, and isn't a rest; nil of another range. Most are of this kind where many
-- callers wait, and a pattern takes three times as long.
local function lone_job(range)
  -- Behind a padded id, before the number of the jobs.
  local FIRST, LAST, SPACE, sub = 22, -3, 32, string.sub
  if sub(range, LAST + 1) ~= ' 1' or string.byte(range, FIRST - 1) ~= SPACE then return nil end
  local id = sub(range, FIRST, LAST)
  return padded(id) == sub(range, 1, FIRST - 2) and id or nil
end
