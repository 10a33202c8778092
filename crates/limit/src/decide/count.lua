-- Counts calls that were let pass elsewhere, and reports the state that comes of it.
--
-- needs: now, rules/check
-- KEYS  the scopes (strings)
-- ARGV  a plan of one scope each
-- Result  { µs of the Redis clock, { state per plan … } }, each as the scope's key holds it
local states = {}
for _, text in ipairs(ARGV) do
  local plan = limit_plan(text)
  limit_take(plan[1], plan.id)
end
limit_flush()
for i, text in ipairs(ARGV) do
  states[i] = limit_packed[limit_plan(text)[1].key]
end
return { now_us, states }
