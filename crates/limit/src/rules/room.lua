-- For a pace: scopes that nobody is told about, whose calls are spent as they come.

-- How many calls of cost 1 would pass all enforced scopes of a plan now; when none, the µs until one does; and the µs in which
-- the first of its tiers refills. `how` as limit_plan takes it.
local function limit_room(text, how)
  local room, wait, refill = math.huge, 0, math.huge
  for _, scope in ipairs(limit_plan(text, how)) do
    for _, tier in ipairs(scope.shadow and {} or scope) do
      room = math.min(room, (tier.rule.left(tier, scope.now)))
      refill = math.min(refill, tier.full and tier.full / tier.limit or tier.period)
      local next_in = tier.rule.wait(tier, scope.now, 1)
      if next_in > 0 then wait = math.max(wait, next_in + scope.now - now_us) end
    end
  end
  return room, wait, refill
end

-- Charges `n` calls to all scopes of a plan; nobody is asked, so no more than limit_room told.
local function limit_spend(text, n)
  for _, scope in ipairs(limit_plan(text)) do
    scope.n = n
    limit_take(scope)
  end
end
