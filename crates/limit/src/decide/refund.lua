-- Returns what plans were charged.
--
-- needs: now, rules/refund
-- KEYS  the scopes (strings)
-- ARGV  1 '1': leases alone; then pairs: a plan, and the µs before which it may be returned (0: always)
-- Result  µs of the Redis clock
for i = 2, #ARGV, 2 do
  if ARGV[1] == '1' then
    limit_release(ARGV[i])
  else
    limit_refund(ARGV[i], tonumber(ARGV[i + 1]))
  end
end
limit_flush()
return now_us
