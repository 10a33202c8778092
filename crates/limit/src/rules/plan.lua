-- Parses plans: the scopes and costs of a request.
-- needs: rules/scope
-- The plan that was parsed last.
local limit_current = { nil, nil, nil, nil, id = 0, allowed = true, retry = 0 }

-- Reduces the limit of the shortest window, unless the plan has a bucket, which goes slower itself.
local function limit_slow(tiers)
  local shortest
  for i = 1, #tiers do
    local tier = tiers[i]
    if tier.full then return end
    if not shortest or tier.period < shortest.period then shortest = tier end
  end
  shortest.limit = math.max(1, math.floor(shortest.limit * limit_speed / 1000))
end

-- Policies to which plans refer by number.
local limit_texts = { nil, nil, nil, nil }

-- `texts`: policies, each prefixed by its length (2 bytes). To be called before plans that refer to them are parsed.
local function limit_load_policies(texts)
  local at, size = 1, nil
  while at <= #texts do
    size, at = limit_unpack('<I2', texts, at)
    limit_texts[#limit_texts + 1] = string.sub(texts, at, at + size - 1)
    at = at + size
  end
end

local function limit_read_tiers(text, how)
  local flags, print, ttl, at = limit_unpack('<BI4Bc0', text)
  local tiers, i = {
    nil, nil, nil, nil,
    print = print, ttl = ttl, are_counts = true, is_shadow = flags % 2 == 1, lost_is_full = flags % 4 >= 2,
    key = 0, now = 0, changed = false, rest = nil, n = 0, share = 0, passed = true, taken = 0,
    head = nil, format = '<I7', bytes = 0, slice = 0,
  }, 0
  local known = limit_pack('<I4', print)
  limit_speed = flags >= 4 and how.speed or 1000
  while at <= #text do
    local code = string.byte(text, at)
    i = i + 1
    local rule = limit_rules[code] or limit_kind(code)
    tiers[i], at = rule.tier(text, at + 1)
    tiers.are_counts = tiers.are_counts and rule.is_count
    if tiers.are_counts then
      known = known .. limit_pack('<BI6', code, tiers[i].period)
      tiers.head = tiers.head or known
      tiers.format = tiers.format .. 'c' .. #known .. rule.numbers
      known = ''
    end
  end
  tiers.bytes, tiers.slice = struct.size(tiers.format), math.floor(tonumber(ttl) * 1000 / 9)
  if limit_speed < 1000 then limit_slow(tiers) end
  return tiers
end

-- The tiers of the policy at `at`, the `place`-th of its plan; and the index after it. `how`: as for limit_plan.
local function limit_tiers_of(place, text, at, size, how)
  local KNOWN, policy, known = 32768, nil, limit_tiers[place]
  if size >= KNOWN then
    policy = limit_texts[size - KNOWN + 1]
  else
    policy, at = string.sub(text, at, at + size - 1), at + size
  end
  if not known then
    known = {}
    limit_tiers[place] = known
  end
  local tiers = known[policy]
  if not tiers then
    tiers = limit_read_tiers(policy, how)
    known[policy] = tiers
  end
  return tiers, at
end

-- A plan: the scopes of a request, with their policies. Packed, little-endian, per scope:
--   id of its leases (7 bytes)  index of its key in KEYS (4)  cost (7)
--   share to take ahead, as 1/n of what is left; 0: none (2)
--   length of the policy, which follows; or 32768 + its number (limit_load_policies) (2)
--   1 shadow, +2 lost state counts as full, +4 has a speed (1)
--   fingerprint of the tiers (4)  ms to keep their state, as text prefixed by its length (1)
--   then per tier its kind (1) and the settings of its rule
--
-- Parsed, it is a list of the tiers of each scope (scope.lua), with the cost of this request and its result. It is
-- valid until the next plan is parsed. `how` may have:
--   elapsed  the maximum µs since the caller last asked, by its monotonic clock
--   asked    the Redis clock at that time, in µs, or nil. For a state that was written later, less has passed. For one
--            that was written earlier, because the clock was set back since, nothing is known
--   joined   the Redis clock when the caller joined, if it hasn't asked since: earlier states were written without it
--   begins   true if a missing state is new, not lost
--   speed    in thousandths of the rate, for tiers that have a speed
--   counted  the Redis clock, in µs, when the calls were allowed that are counted now
local function limit_plan(text, how)
  local plan, at, i, id, key, n, share, size, tiers = limit_current, 1, 0
  while at <= #text do
    id, key, n, share, size, at = limit_unpack('<I7I4I7I2I2', text, at)
    i = i + 1
    tiers, at = limit_tiers_of(i, text, at, size, how or limit_nothing)
    if tiers.key ~= key or limit_by[key] ~= tiers then limit_load(tiers, key, how or limit_nothing) end
    tiers.n, tiers.share, tiers.passed, tiers.taken = n, share, true, 0
    plan[i] = tiers
  end
  for j = i + 1, #plan do plan[j] = nil end
  plan.id, plan.allowed, plan.retry = id, true, 0
  return plan
end
