-- Stream kind: how large an entry can be, before it is read.

-- The most bytes that an entry can have; nil where that isn't known, as where somebody else has ever added one, or
-- deleted one, behind which an added one would not be seen. `level`: how many jobs there are. Read once for a level.
local largest_at, largest_found
local function largest_entry(keys, level)
  if level == largest_at then return largest_found end
  largest_at, largest_found = level, nil
  -- The names of an entry's fields, and the times that the admit script writes into it.
  local BESIDE = 200
  local counts = redis.call('HMGET', keys.tally, 'largest', 'accepted', 'delivered', 'dead', 'expired', 'cancelled')
  for i = 1, 6 do counts[i] = tonumber(counts[i] or nil) end
  local ours = (counts[2] or 0) - (counts[3] or 0) - (counts[4] or 0) - (counts[5] or 0) - (counts[6] or 0)
  if counts[1] and level == ours then largest_found = counts[1] + BESIDE end
  return largest_found
end
