-- Counts calls that were let pass elsewhere, and takes back such; reports the state that comes of it.
--
-- needs: now, rules/check, rules/refund
-- KEYS  the scopes (strings)
-- ARGV  pairs: a plan of one scope, and empty for calls to count, or the µs before which they are taken back (0:
--       always)
-- Result  { µs of the Redis clock, { state per plan … } }, each as the scope's key holds it; empty: the key is missing
for i = 1, #ARGV, 2 do
  local text, before = ARGV[i], tonumber(ARGV[i + 1])
  if before then
    limit_refund(text, before)
  else
    local plan = limit_plan(text)
    -- A look writes nothing.
    if plan[1].n > 0 then limit_take(plan[1], plan.id) end
  end
end
limit_flush()
local states = {}
for i = 1, #ARGV, 2 do
  states[#states + 1] = limit_packed[limit_plan(ARGV[i])[1].key] or ''
end
return { now_us, states }
