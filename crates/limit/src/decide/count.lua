-- Charges or refunds calls that were counted by local counters, and returns the new states.
--
-- needs: now, rules/check, rules/refund
-- KEYS  the scopes (strings)
-- ARGV  pairs: a plan of one scope, and either `-` and how many µs ago the last of its calls was allowed, or the µs of
--       the Redis clock before which the calls are refunded (0: always)
-- Result  { µs of the Redis clock, { state per plan … } }, each state as in the scope's key, '' if the key is missing
local how = { counted = 0 }
for i = 1, #ARGV, 2 do
  local text, ago = ARGV[i], string.match(ARGV[i + 1], '^-(%d+)')
  if ago then
    how.counted = now_us - tonumber(ago)
    local plan = limit_plan(text, how)
    -- Reading a state writes nothing.
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
