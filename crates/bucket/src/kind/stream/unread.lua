-- Stream kind: what is known of jobs before they are read: how large one can be, and whether all are of one flow. Then
-- nobody waits for others, so none takes a place: they are called in the order in which they came, and are sorted in,
-- all at once, when somebody else comes.

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

-- The caller of all jobs in the bucket, '' for jobs without one; nil where they are of several flows, or may be.
-- `level`: how many jobs there are; `is_mixed`: whether some may have a delay, a group or a priority.
local function sole_caller(keys, holders, level, is_mixed)
  -- Of what somebody else has added it isn't known whose it is.
  if is_mixed or not largest_entry(keys, level) then return nil end
  local fields = redis.call('HLEN', holders)
  if fields == 0 then return '' end
  -- A caller has two: its jobs, and its bytes behind a space.
  if fields ~= 2 then return nil end
  local held = redis.call('HGETALL', holders)
  local at = string.find(held[1], ' ', 1, true) and 3 or 1
  return tonumber(held[at + 1]) == level and held[at] or nil
end

-- Whether jobs without a caller take places among those that wait (places.lua). `text`: the weights, '' where nobody
-- takes turns. `bounds`: '' where nobody has a rate alone.
local function nobodys_take_places(keys, holders, text, level, pace, bounds)
  if text == '' then return false end
  if pace.flows or bounds ~= '' then return true end
  return level > 0 and sole_caller(keys, holders, level, pace.is_mixed) ~= ''
end
