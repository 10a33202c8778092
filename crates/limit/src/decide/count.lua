-- Counts calls that were let pass elsewhere, and takes back such; reports the state that comes of it.
--
-- needs: now, rules/check, rules/refund
-- KEYS  the scopes (strings)
-- ARGV  pairs: a plan of one scope, and either `-` and how many µs ago the last of its calls was let pass, or the µs
--       before which they are taken back (0: always)
-- Result  { µs of the Redis clock, { state per plan … } }, each as the scope's key holds it; empty: the key is missing
local how = { counted = 0 }
for i = 1, #ARGV, 2 do
  local text, ago = ARGV[i], string.match(ARGV[i + 1], '^-(%d+)')
  if ago then
    how.counted = now_us - tonumber(ago)
    local plan = limit_plan(text, how)
    -- A look writes nothing.
    if plan[1].n > 0 then limit_take(plan[1], plan.id) end
  else
    limit_refund(text, tonumber(ARGV[i + 1]))
  end
end
limit_flush()
local states = {}
for i = 1, #ARGV, 2 do
  states[#states + 1] = limit_packed[limit_plan(ARGV[i])[1].key] or ''
end
return { now_us, states }
