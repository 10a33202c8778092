-- A scope: a key with the state of all tiers of a policy in one string. It always has a TTL, an eighth longer than
-- needed, so that the TTL isn't set again within the same eighth (`slice`).
--   µs of the last write (7 bytes)  fingerprint of its tiers (4)
--   then per tier its kind (1), its period (6) and the state of the kind's rule
--   then, for a while after a change of the tiers, each state that no tier took over: 255 (1), µs of the change (7), µs
--     when it was written (7), and as above. It is read when the tiers change back: a replica may know the change later
--     than others, or return or report under the earlier tiers what it took under them
-- In each script it is read once, changed in memory, and written once, by limit_flush.
--
-- Tiers are parsed once for all scopes with the same policy, as the requests of a batch often differ only in their
-- keys. They contain the state of one scope at a time. The states of the others are packed.
-- needs: now, rules/migrate

-- By index of the key: its state, false if the key is missing; its TTL if it is to be written (false: keep the TTL);
-- and the tiers that contained its state last.
local limit_packed, limit_ttl, limit_by = { nil, nil, nil, nil }, {}, { nil, nil, nil, nil }
-- By place in a plan, then by text: lists of tiers, with
--   print, ttl, are_counts, is_shadow, lost_is_full  of the policy
--   head, format, bytes, slice  if the states are counts: a state is a time, this head, and the numbers of the first
--     tier, then for each other tier its head and its numbers; its length in bytes; the slice in µs
--   key, now, changed, rest   of the scope whose state they contain; changed: `limit_packed` is outdated;
--     rest: the states that no tier took over, or nil
--   n, share, passed, taken   of the request that was checked last
local limit_tiers = { nil, nil, nil, nil }
-- The default of `how` (limit_plan).
local limit_nothing = {}

-- Packs the state in these tiers.
local function limit_keep(tiers)
  local packed, ttl = limit_pack('<I7I4', tiers.now, tiers.print), tiers.ttl
  for i = 1, #tiers do
    local tier = tiers[i]
    packed = packed .. tier.rule.write(tier)
    -- After the burst was reduced, the level may be higher and take longer to drain. Leases may be longer than those
    -- that are taken now.
    if tier.leases or tier.full and tier.level > tier.full then
      local _, resets = tier.rule.left(tier, tiers.now)
      ttl = string.format('%.0f', math.max(tonumber(ttl), math.ceil(resets / 1000) + 1))
    end
  end
  if tiers.rest then
    packed = packed .. tiers.rest
    ttl = string.format('%.0f', math.max(tonumber(ttl), redis.call('PTTL', KEYS[tiers.key])))
  end
  limit_packed[tiers.key], limit_ttl[tiers.key], tiers.changed = packed, ttl, false
end

-- The state of a key, false if it is missing. With `reads_ahead` also reads the next keys, as a batch has many scopes.
-- All other strings among KEYS are short.
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

-- The states from index `from` on, which no tier took over; nil without any, and a while after the change.
local function limit_rest(packed, from)
  -- In µs: longer than a replica counts calls without a report.
  local KEPT = 90000000
  if #packed < from + 14 or string.byte(packed, from) ~= 255 then return nil end
  local changed = limit_unpack('<I7', packed, from + 1)
  return math.abs(now_us - changed) < KEPT and string.sub(packed, from) or nil
end

-- Fills tiers with the state of a key. `how` as for limit_plan.
local function limit_load(tiers, key, how)
  if tiers.changed then limit_keep(tiers) end
  local packed = limit_stored(key, how == limit_nothing or how.counted)
  local now, last, print, from = now_us, now_us, nil, nil
  limit_by[key], tiers.key = tiers, key
  -- Ignores a state that was written by hand and is too short.
  if packed and #packed < 11 then packed = false end
  if packed then last, print, from = limit_unpack('<I7I4', packed) end
  -- Charges at the time of the calls, but not before the last write.
  if how.counted then now = math.min(now_us, math.max(how.counted, packed and last or 0)) end
  -- The maximum µs since the last write, by the caller's monotonic clock (nil: unknown).
  local elapsed = how.elapsed
  if elapsed and how.asked then elapsed = last < how.asked and 0 or math.max(0, elapsed - last + how.asked) end
  local is_lost = tiers.lost_is_full and not how.begins
  if (packed or is_lost) and (print ~= tiers.print or last > now or elapsed and now - last > elapsed) then
    packed, last, now = limit_migrate(tiers, packed, is_lost, elapsed, how.joined and last < how.joined)
    from = 12
  end
  for i = 1, #tiers do
    local tier = tiers[i]
    from = tier.rule.load(tier, packed, from, last, now)
  end
  tiers.now, tiers.rest = now, packed and from <= #packed and limit_rest(packed, from) or nil
end

-- Writes all changed states. To be called once, at the end, because scripts don't roll back.
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
