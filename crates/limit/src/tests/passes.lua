-- Requests that pass, each at its own time, as if each were a script run.
--
-- needs: rules/check, rules/pass
-- KEYS  1 the only scope
-- ARGV  1 its plan, then µs of the clock
-- Result  per time: ms that the key lives from then on, -1: as it did before
local MARK, text = 1000000000, ARGV[1]
local lives = {}
for i = 2, #ARGV do
  now_us = tonumber(ARGV[i])
  redis.call('PEXPIRE', KEYS[1], MARK)
  if not limit_pass(text) then
    limit_charge(limit_check(text))
  else
    limit_charge_passed()
  end
  limit_flush()
  limit_packed, limit_tiers, limit_by = {}, {}, {}
  local left = redis.call('PTTL', KEYS[1])
  lives[#lives + 1] = left > MARK / 2 and -1 or left
end
return lives
