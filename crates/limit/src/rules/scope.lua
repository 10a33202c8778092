-- A scope: a key, with the state of all tiers of a policy in one string, which has a time to live, always. That is an
-- eighth longer than it has to be: so it needn't be set again in the same eighth (`slice`).
--   µs of the last write (7 bytes)  fingerprint of the tiers it was written for (4)
--   then per tier its kind (1), its period (6) and what the kind's rule keeps
-- In a script run it is read once, changed in memory, and written once, by limit_flush.
--
-- Tiers are read from a plan once, however many scopes have them: many requests of one batch differ in their keys
-- alone. They have the state of one scope at a time. That of the others is packed, as it will be written.
-- needs: now, rules/migrate

-- By the place of a key: its state, false where the key is missing; its time to live, where it is to be written (false:
-- as the key has it); and the tiers that had it last.
local limit_packed, limit_ttl, limit_by = { nil, nil, nil, nil }, {}, { nil, nil, nil, nil }
-- By their place in a plan, then by their text: lists of tiers, with
--   print, ttl, are_counts, is_shadow, lost_is_full  of the policy
--   head, format, bytes, slice  of counts: their state begins with a time and this head, then come the numbers of the
--     first tier, and of each other one what it begins with and its numbers; how many bytes it has; the slice in µs
--   key, now, changed         of the scope whose state they have; changed: `limit_packed` doesn't have all of it
--   n, share, passed, taken   of the request that was judged last
local limit_tiers = { nil, nil, nil, nil }
-- Of requests, nothing is known besides.
local limit_nothing = {}

-- Packs the state that these tiers have.
local function limit_keep(tiers)
  local packed, ttl = limit_pack('<I7I4', tiers.now, tiers.print), tiers.ttl
  for i = 1, #tiers do
    local tier = tiers[i]
    packed = packed .. tier.rule.write(tier)
    -- Of a bucket whose burst was lowered, more drains than that.
    if tier.full and tier.level > tier.full then
      ttl = string.format('%.0f', math.max(tonumber(ttl), math.ceil(tier.level / tier.limit / 1000) + 1))
    end
  end
  limit_packed[tiers.key], limit_ttl[tiers.key], tiers.changed = packed, ttl, false
end

-- The state of a key; false: it is missing. A batch of requests has many scopes: with `reads_ahead` the next keys are
-- read with this one. No other key of a script is a string that grows.
local function limit_stored(key, reads_ahead)
  local packed, by = limit_packed[key], limit_by[key]
  if packed == nil then
    local to = reads_ahead and math.min(#KEYS, key + 63) or key
    local found = redis.call('MGET', unpack(KEYS, key, to))
    for i = 1, #found do
      if limit_packed[key + i - 1] == nil then limit_packed[key + i - 1] = found[i] end
    end
    return limit_packed[key]
  elseif by and by.changed and by.key == key then
    limit_keep(by)
    return limit_packed[key]
  end
  return packed
end

-- Fills tiers with the state of a key. `how` as for limit_plan.
local function limit_load(tiers, key, how)
  if tiers.changed then limit_keep(tiers) end
  local packed = limit_stored(key, how == limit_nothing or how.counted)
  local now, last, print, from = now_us, now_us, nil, nil
  limit_by[key], tiers.key = tiers, key
  -- Somebody may have written what is no state.
  if packed and #packed < 11 then packed = false end
  if packed then last, print, from = limit_unpack('<I7I4', packed) end
  -- Charged as of then, unless others have charged since.
  if how.counted then now = math.min(now_us, math.max(how.counted, packed and last or 0)) end
  -- The most that can have passed since the last write, by a clock that nobody sets (nil: unknown).
  local elapsed = how.elapsed
  if elapsed and how.asked then elapsed = last < how.asked and 0 or math.max(0, elapsed - last + how.asked) end
  local is_lost = tiers.lost_is_full and not how.begins
  if (packed or is_lost) and (print ~= tiers.print or last > now or elapsed and now - last > elapsed) then
    packed, last, now = limit_mend(tiers, packed, is_lost, elapsed, how.joined and last < how.joined)
    from = 12
  end
  for i = 1, #tiers do
    local tier = tiers[i]
    from = tier.rule.load(tier, packed, from, last, now)
  end
  tiers.now = now
end

-- Writes what was changed. To be called once, last: scripts don't roll back.
local function limit_flush()
  for key, tiers in pairs(limit_by) do
    if tiers.changed and tiers.key == key then limit_keep(tiers) end
  end
  for key, ttl in pairs(limit_ttl) do
    if ttl then
      redis.call('SET', KEYS[key], limit_packed[key], 'PX', ttl)
    else
      redis.call('SETRANGE', KEYS[key], '0', limit_packed[key])
    end
  end
  limit_ttl = {}
end
