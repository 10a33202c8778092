-- A scope: its tiers, with the state of all of them in one string, which has a time to live, always.
--   µs of the last write (7 bytes)  fingerprint of the tiers it was written for (4)  then per tier its kind (1), its period (6)
--   and what the kind's rule keeps
-- In a script run it is read once, changed in memory, and written once, by limit_flush.
local limit_scopes = { nil, nil, nil, nil }

local limit_rules = { nil, nil, nil, nil, nil, nil, nil, nil }

-- nil: of a kind that isn't known here.
local function limit_rule(code)
  local rule = limit_rules[code]
  if not rule and limit_kinds[code] then
    rule = limit_kinds[code]()
    limit_rules[code] = rule
  end
  return rule
end

local function limit_save(scope)
  local packed = limit_pack('<I7I4', scope.now, scope.print)
  for i = 1, #scope do
    packed = packed .. scope[i].rule.write(scope[i])
  end
  redis.call('SET', KEYS[scope.key], packed, 'PX', scope.ttl)
  scope.changed = false
end

-- The tiers were changed: each takes the state of the one it was, by kind and period, else by kind. Tells which found none.
local function limit_adopt(scope, packed, at)
  local old, fresh = {}, {}
  while at <= #packed do
    local rule = limit_rule(string.byte(packed, at))
    if not rule then break end
    local state, was = { rule = rule }, nil
    at, was = rule.read(state, packed, at)
    old[#old + 1] = { state = state, was = was }
  end
  for i = 1, #scope do fresh[i] = true end
  for _, exactly in ipairs({ true, false }) do
    for i, tier in ipairs(scope) do
      for j, candidate in ipairs(old) do
        local same = candidate.state.rule == tier.rule and (not exactly or candidate.was == tier.period)
        if same and fresh[i] then
          tier.rule.convert(tier, candidate.state, candidate.was)
          table.remove(old, j)
          fresh[i] = nil
          break
        end
      end
    end
  end
  return fresh
end

-- The Redis clock was put back by `ahead`, more than a refill of one tier: no time has passed, and that tier has nothing left.
local function limit_put_back(scope, ahead)
  for i = 1, #scope do
    local tier = scope[i]
    tier.rule.shift(tier, -ahead)
    if ahead > tier.rule.refill(tier) then tier.rule.fill(tier, now_us) end
  end
  scope.changed = true
end

-- Lets the time since `last` pass. `elapsed`: the most that it can be, by a clock that nobody sets.
local function limit_advance(scope, last, elapsed)
  local now = now_us
  if last > now_us then
    local shortest = math.huge
    for _, tier in ipairs(scope) do shortest = math.min(shortest, tier.rule.refill(tier)) end
    if last - now_us > shortest then
      limit_put_back(scope, last - now_us)
      last = now_us
    else
      now = last
    end
  elseif elapsed and now_us - last > elapsed then
    for _, tier in ipairs(scope) do tier.rule.shift(tier, now_us - elapsed - last) end
    last = now_us - elapsed
  end
  for i = 1, #scope do
    scope[i].rule.advance(scope[i], last, now)
  end
  scope.now, scope.ahead = now, now - now_us
end

-- Reads the state into a scope that was made from a plan.
local function limit_load(scope, lost_is_full, elapsed)
  local packed, last, print, at = redis.call('GET', KEYS[scope.key]), now_us, nil, nil
  local fresh = scope
  if packed then
    last, print, at = limit_unpack('<I7I4', packed)
    if print == scope.print then
      for i = 1, #scope do
        at = scope[i].rule.read(scope[i], packed, at)
      end
      fresh = nil
    else
      fresh = limit_adopt(scope, packed, at)
      scope.changed = true
    end
  end
  if fresh and lost_is_full then
    for i, tier in ipairs(scope) do
      if fresh[i] then tier.rule.fill(tier, now_us) end
    end
    scope.changed = true
  end
  limit_advance(scope, last, elapsed)
end

-- Writes what was changed. To be called once, last: scripts don't roll back.
local function limit_flush()
  for _, scope in pairs(limit_scopes) do
    if scope.changed then limit_save(scope) end
  end
end
