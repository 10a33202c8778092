-- Decides on a request: checks all policies of its plan and, if all enforced ones allow it, charges it. Does nothing
-- after the given time, because then the request has been decided without Redis; nor before the other one, because then
-- the clock was estimated wrongly, and the plan may have other windows of a calendar than the current ones.
--
-- needs: now, rules/check
-- KEYS  the scopes (strings)
-- ARGV  1 the plan  2 µs of the Redis clock until which it may be charged  3 and from when on
-- Result  a report, as of limit_report; only { µs of the Redis clock } if it is too late, or too early
if now_us > tonumber(ARGV[2]) or now_us < tonumber(ARGV[3]) then return { now_us } end
local verdict = limit_check(ARGV[1])
limit_charge(verdict)
local report = limit_report(verdict)
limit_flush()
return report
