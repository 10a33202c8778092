-- Returns what a plan was charged; no further than to empty. After `before` (µs; 0: always) it would be returned to a
-- time that it wasn't taken from, so nothing is. `charged`: when it was, in µs (nil: unknown): a window that began
-- later has nothing of it.
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

-- Gives the leases of a plan back, and nothing else: the call is over, but it was made.
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
