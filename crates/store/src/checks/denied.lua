-- Tries calls, and reports why each failed. It is run with `flags=no-writes` (Redis 7.0): then Redis checks the
-- permission for a call that writes, and doesn't carry it out.
--
-- KEYS  one that doesn't exist: where the script runs
-- ARGV  per call: number of its words, then these
-- Result  { error or '', … } one per call
local errors, at = {}, 1
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  local answer = redis.pcall(unpack(ARGV, at + 1, at + words))
  errors[#errors + 1] = type(answer) == 'table' and answer.err or ''
  at = at + 1 + words
end
return errors
