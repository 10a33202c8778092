-- For a pace: counts and charges the calls of a take. `limit_state` and `limit_present` are for plans with one scope.
-- needs: now, rules/check

-- Returns how many calls of cost 1 all enforced scopes of a plan allow now; the µs until one is allowed, if none is;
-- the µs in which the first of its tiers refills; and whether a window may end before all calls granted now are made.
-- `how`: as for limit_plan, and `late`, `undrained`, `unsent`, `ahead` (arithmetic.lua).
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

-- Charges `n` calls, at most as many as limit_room returned, to all scopes of a plan without a check. Returns when they
-- may begin: for each bucket that makes calls wait, the ns until the first call, and from each call to the next.
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

-- The state that was written, or nil.
local function limit_state(text)
  local _, key = limit_unpack('<I7I4', text)
  return limit_packed[key]
end

-- Replaces the state in Redis if the one that the caller knows is newer. Returns the newer one, '' without any. To be
-- called before the other functions.
local function limit_present(text, known)
  local _, key = limit_unpack('<I7I4', text)
  local stored, LOST_MS = redis.call('GET', KEYS[key]) or '', 86400000

  local function is_newer()
    if known == '' or stored == '' then return stored == '' and known ~= '' end
    local written, other = limit_unpack('<I7', known), limit_unpack('<I7', stored)
    if written ~= other then return written > other end
    -- The times may be equal after the clock was set back. Then the newer state is the one with more use, which is the
    -- last number.
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
