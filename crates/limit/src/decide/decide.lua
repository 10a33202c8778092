-- Decides a request: judges it by all that is in its plan and, if all that is enforced passes, charges it. After its
-- time it does nothing: the caller was refused meanwhile, because Redis didn't answer.
--
-- needs: now, rules/check
-- KEYS  the scopes (strings)
-- ARGV  1 the plan  2 µs of the Redis clock until which it may be charged
-- Result  a report, as limit_report makes it; { µs of the Redis clock } alone: too late
if now_us > tonumber(ARGV[2]) then return { now_us } end
local verdict = limit_check(ARGV[1])
limit_charge(verdict)
local report = limit_report(verdict)
limit_flush()
return report
