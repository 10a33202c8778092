-- Decides a request: judges it by all that is in its plan and, if all that is enforced passes, charges it.
--
-- needs: rules/check
-- KEYS  the scopes (strings)
-- ARGV  1 the plan
-- Result  a report, as limit_report makes it
local verdict = limit_check(ARGV[1])
limit_charge(verdict)
local report = limit_report(verdict)
limit_flush()
return report
