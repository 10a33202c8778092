-- Tries calls, and returns the error of each. Runs with `flags=no-writes` (Redis 7.0): Redis checks the permission of a
-- call that writes, but doesn't execute it.
--
-- KEYS  a key that doesn't exist, which selects the node
-- ARGV  per call: the number of its words, then the words
-- Result  { error or '', … } one per call
local errors, at = {}, 1
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  local answer = redis.pcall(unpack(ARGV, at + 1, at + words))
  errors[#errors + 1] = type(answer) == 'table' and answer.err or ''
  at = at + 1 + words
end
return errors
