-- How many calls of cost 1 would pass all enforced scopes of a plan now; and when none, the µs until one does. `elapsed`: the
-- most that can have passed since the last call was charged, by a clock that nobody sets (nil: unknown).
local function limit_room(text, elapsed)
  local room, wait = math.huge, 0
  for _, scope in ipairs(limit_plan(text, elapsed)) do
    for _, tier in ipairs(scope.shadow and {} or scope) do
      room = math.min(room, (tier.rule.left(tier, scope.now)))
      local next_in = tier.rule.wait(tier, scope.now, 1)
      if next_in > 0 then wait = math.max(wait, next_in + scope.now - now_us) end
    end
  end
  return room, wait
end

-- Charges `n` calls to all scopes of a plan; nobody is asked, so no more than limit_room told.
local function limit_spend(text, n)
  for _, scope in ipairs(limit_plan(text)) do
    scope.n = n
    limit_take(scope)
  end
end
