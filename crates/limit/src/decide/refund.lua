-- Refunds the charges of plans.
--
-- needs: now, rules/refund
-- KEYS  the scopes (strings)
-- ARGV  1 '1': only leases; then triples: a plan, the µs before which it is refunded (0: always), and the µs at which
--       it was charged (0: unknown)
-- Result  µs of the Redis clock
for i = 2, #ARGV, 3 do
  if ARGV[1] == '1' then
    limit_release(ARGV[i])
  else
    local charged = tonumber(ARGV[i + 2])
    limit_refund(ARGV[i], tonumber(ARGV[i + 1]), charged > 0 and charged or nil)
  end
end
limit_flush()
return now_us
