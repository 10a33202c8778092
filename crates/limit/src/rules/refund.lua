-- Returns what a plan was charged, at most until nothing is consumed. Only before the time `before` (µs; 0: always):
-- later it would be returned to another window. `charged`: when it was charged, in µs (nil: unknown), as a window that
-- began later doesn't contain it.
-- needs: rules/plan
local function limit_refund(text, before, charged)
  local plan = limit_plan(text)
  for _, tiers in ipairs(plan) do
    if before == 0 or tiers.now < before then
      for _, tier in ipairs(tiers) do tier.rule.seldom().refund(tier, tiers.now, tiers.n, plan.id, charged) end
      tiers.changed = true
    end
  end
end

-- Returns only the leases of a plan, after a call that was made.
local function limit_release(text)
  local plan = limit_plan(text)
  for _, tiers in ipairs(plan) do
    for _, tier in ipairs(tiers) do
      if tier.leases then
        tier.rule.seldom().refund(tier, tiers.now, tiers.n, plan.id)
        tiers.changed = true
      end
    end
  end
end
