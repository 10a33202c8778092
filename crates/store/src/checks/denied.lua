-- Tries calls, and reports why each failed. It is run with `flags=no-writes` (Redis 7.0): then Redis checks the
-- permission for a call that writes, and doesn't carry it out. Before, a script has no flags: there the first call makes
-- the key a string, and for any other type of key a call fails after Redis has checked its permission. So calls for
-- strings that change it come last, and DEL after them.
--
-- KEYS  one that doesn't exist: where the script runs
-- ARGV  1 '1' where the others are tried only if the first doesn't fail  2… per call: number of its words, then these
-- Result  { error or '', … } one per call that was tried
local errors, at = {}, 2
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  local answer = redis.pcall(unpack(ARGV, at + 1, at + words))
  errors[#errors + 1] = type(answer) == 'table' and answer.err or ''
  if ARGV[1] == '1' and errors[1] ~= '' then break end
  at = at + 1 + words
end
return errors
