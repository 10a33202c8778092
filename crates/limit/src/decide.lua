-- Decides requests one after the other, the later seeing what the earlier were charged.
--
-- KEYS  the scopes (strings)
-- ARGV  a plan per request
-- Result  { µs of the Redis clock, report per request … }, reports as limit_report makes them
local answers = { now_us }
for i, plan in ipairs(ARGV) do
  local verdict = limit_check(plan)
  limit_charge(verdict)
  answers[i + 1] = limit_report(verdict)
end
limit_flush()
return answers
