-- Gives back what a plan was charged; no further than to empty. After `before` (µs; 0: always) it would be given back to a
-- time that it wasn't taken from, so nothing is.
local function limit_refund(text, before)
  local plan = limit_plan(text)
  for _, asked in ipairs(plan) do
    local scope = asked.scope
    if before == 0 or scope.now < before then
      for _, tier in ipairs(scope) do tier.rule.refund(tier, scope.now, asked.n, plan.id) end
      scope.changed = true
    end
  end
end

-- Gives the leases of a plan back, and nothing else: the call is over, but it was made.
local function limit_release(text)
  local plan = limit_plan(text)
  for _, asked in ipairs(plan) do
    for _, tier in ipairs(asked.scope) do
      if tier.leases then
        tier.rule.refund(tier, asked.scope.now, asked.n, plan.id)
        asked.scope.changed = true
      end
    end
  end
end
