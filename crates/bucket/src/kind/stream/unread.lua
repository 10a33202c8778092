-- Stream kind: what is known of jobs without reading them: how large they can be, and whether all are of one flow. Jobs
-- of one flow need no places: they are called in the order of their admission. When a job of another flow comes, they
-- are sorted in as one range, without being read.

-- The maximum bytes of an entry, with `level` jobs in the bucket; nil if it isn't known. It is known only if the
-- counters agree with `level`: that is, if nobody has added or deleted entries by hand. Cached for the level.
local largest_at, largest_found
local function largest_entry(keys, level)
  if level == largest_at then return largest_found end
  largest_at, largest_found = level, nil
  -- Bytes that aren't counted: field names, and the times that admit.lua adds.
  local BESIDE = 200
  local counts = redis.call('HMGET', keys.tally, 'largest', 'accepted', 'delivered', 'dead', 'expired', 'cancelled')
  for i = 1, 6 do counts[i] = tonumber(counts[i] or nil) end
  local ours = (counts[2] or 0) - (counts[3] or 0) - (counts[4] or 0) - (counts[5] or 0) - (counts[6] or 0)
  if counts[1] and level == ours then largest_found = counts[1] + BESIDE end
  return largest_found
end

-- The caller of all jobs in the bucket, '' for jobs without one; nil if they are, or may be, of several flows. `level`:
-- number of jobs; `is_mixed`: whether some may have a delay, a group or a priority.
local function sole_caller(keys, holders, level, is_mixed)
  -- The caller of an entry that was added by hand isn't known.
  if is_mixed or not largest_entry(keys, level) then return nil end
  local fields = redis.call('HLEN', holders)
  if fields == 0 then return '' end
  -- A caller has two fields: its name for its jobs, and `<name> bytes`.
  if fields ~= 2 then return nil end
  local held = redis.call('HGETALL', holders)
  local at = string.find(held[1], ' ', 1, true) and 3 or 1
  return tonumber(held[at + 1]) == level and held[at] or nil
end

-- Whether jobs without a caller take places in the fair queuing (places.lua). `text`: the weights, '' without fair
-- queuing. `bounds`: the limits per caller, '' without any.
local function nobodys_take_places(keys, holders, text, level, pace, bounds)
  if text == '' then return false end
  if pace.flows or bounds ~= '' then return true end
  return level > 0 and sole_caller(keys, holders, level, pace.is_mixed) ~= ''
end
