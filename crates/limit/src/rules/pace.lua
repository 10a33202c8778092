-- For a pace: scopes that nobody is reported about, whose calls are spent as they come. Of the only scope of a plan:
-- `limit_state` and `limit_present`.
-- needs: now, rules/check

-- How many calls of cost 1 would pass all enforced scopes of a plan now; when none, the µs until one does; and the µs
-- in which the first of its tiers refills; and whether a window may end before all that is granted now is used. `how`
-- as limit_plan takes it, and besides how late the calls may be made that are granted, and how early they are granted:
-- `late`, `undrained`, `unsent`, `ahead` (arithmetic.lua).
local function limit_room(text, how)
  if how then
    limit_late, limit_undrained, limit_unsent = how.late or 0, how.undrained or 0, how.unsent or 0
    limit_ahead = how.ahead or 0
  end
  local room, wait, refill, crosses = math.huge, 0, math.huge, false
  for _, tiers in ipairs(limit_plan(text, how)) do
    for _, tier in ipairs(tiers.is_shadow and {} or tiers) do
      room = math.min(room, (tier.rule.left(tier, tiers.now)))
      if not tier.full and limit_late * 2 > tier.period then crosses = true end
      refill = math.min(refill, tier.full and tier.full / tier.limit or tier.period)
      local next_in = tier.rule.wait(tier, tiers.now, 1)
      if next_in > 0 then wait = math.max(wait, next_in + tiers.now - now_us) end
    end
  end
  return room, wait, refill, crosses
end

-- Charges `n` calls to all scopes of a plan; nobody is asked, so no more than limit_room reported. When they may begin:
-- of each bucket that makes some of them wait, ns until the first one may, and ns from each to the next.
local function limit_spend(text, n)
  local starts = {}

  local function add_starts(tier, ahead_of_clock)
    local begins_in = (tier.level + tier.period - tier.full + tier.ahead) / tier.limit + ahead_of_clock
    local first, step = math.ceil(begins_in * 1000), math.ceil(tier.period / tier.limit * 1000)
    if first + (n - 1) * step > 0 then starts[#starts + 1], starts[#starts + 2] = first, step end
  end

  for _, tiers in ipairs(limit_plan(text)) do
    for _, tier in ipairs(limit_ahead > 0 and n > 0 and not tiers.is_shadow and tiers or {}) do
      if tier.full then add_starts(tier, tiers.now - now_us) end
    end
    tiers.n = n
    limit_take(tiers)
  end
  return starts
end

-- The state as it was written; nil: it wasn't.
local function limit_state(text)
  local _, key = limit_unpack('<I7I4', text)
  return limit_packed[key]
end

-- Where somebody knows a newer state than Redis has, that replaces it. The newer one; '' where neither knows any. To be
-- called before any other of these.
local function limit_present(text, known)
  local _, key = limit_unpack('<I7I4', text)
  local stored, LOST_MS = redis.call('GET', KEYS[key]) or '', 86400000

  local function is_newer()
    if known == '' or stored == '' then return stored == '' and known ~= '' end
    local written, other = limit_unpack('<I7', known), limit_unpack('<I7', stored)
    if written ~= other then return written > other end
    -- A clock that was put back stands still for a while: then the one in which more was used. It has the higher
    -- number at its end.
    for at = math.min(#known, #stored), 1, -1 do
      local byte, others = string.byte(known, at), string.byte(stored, at)
      if byte ~= others then return byte > others end
    end
    return false
  end

  if not is_newer() then return stored end
  redis.pcall('SET', KEYS[key], known, 'PX', LOST_MS)
  return known
end
