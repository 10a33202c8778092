-- Decides a request as if it were another time.
--
-- needs: rules/check
-- KEYS  the scopes (strings)
-- ARGV  1 the plan  2 µs of the clock
-- Result  a report, as limit_report makes it
local verdict = limit_check(ARGV[1])
limit_charge(verdict)
local report = limit_report(verdict)
limit_flush()
return report
