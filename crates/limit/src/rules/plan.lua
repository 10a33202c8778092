-- What a request asks of scopes, read from one text.
-- needs: rules/scope
-- The plan that was read last.
local limit_current = { nil, nil, nil, nil, id = 0, allowed = true, retry = 0 }

-- Without a bucket that went slower, the shortest window gets less.
local function limit_slow(tiers)
  local shortest
  for i = 1, #tiers do
    local tier = tiers[i]
    if tier.full then return end
    if not shortest or tier.period < shortest.period then shortest = tier end
  end
  shortest.limit = math.max(1, math.floor(shortest.limit * limit_speed / 1000))
end

-- Texts of policies that plans name by their numbers.
local limit_texts = { nil, nil, nil, nil }

-- `texts`: each led by its length (2 bytes). To be called before a plan is read that names any.
local function limit_know(texts)
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
    key = 0, now = 0, changed = false, n = 0, share = 0, passed = true, taken = 0,
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

-- The tiers of the policy that begins at `at`, the one at this place of a plan; and where what is behind it begins.
-- `how` as for limit_plan.
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

-- A plan: the scopes that one request is judged in, with all there is to know of their policies. Packed, little-endian,
-- per scope:
--   id of its leases (7 bytes)  place of its key in KEYS (4)  cost (7)
--   share to take ahead, as 1/n of what is left; 0: none (2)
--   bytes of what follows, which is of its policy; or 32768 + the number of one that is known (limit_know) (2)
--   1 shadow, +2 lost is full, +4 goes at a speed (1)
--   fingerprint of the tiers (4)  ms to keep their state, as text led by its length (1)
--   then per tier its kind (1) and the settings its rule reads
--
-- Read, it is a list of the tiers of each scope (scope.lua), with what this request asks of them and what comes of it.
-- That is good until the next plan is read. `how` may say of scopes that are read:
--   elapsed  the most µs that can have passed since its caller last asked, by a clock that nobody sets
--   asked    what the Redis clock was then, in µs; nil: unknown. What others have written since is that much later;
--            what was written before it, by a clock that was put back since, says nothing of what has passed
--   joined   what the Redis clock was when its caller joined, as long as it hasn't asked since: what was written before
--            that was written without it
--   begins   what has no state was never there, so none was lost
--   speed    thousandths of their rate, for those that go at a speed
--   counted  what the Redis clock was, in µs, when the calls were let pass that are counted now
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
