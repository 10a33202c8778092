-- The same before Redis 7.0, where a script has no flags: the key is a string, and for any other type of key a call
-- fails after Redis has checked its permission. So calls for strings that change it come last, and DEL after them.
--
-- KEYS  1 one that doesn't exist
-- ARGV  per call: number of its words, then these
-- Result  { error or '', … } one for the SET of the key; then, if that didn't fail, one per call
local made = redis.pcall('SET', KEYS[1], '', 'PX', 1)
if made.err then return { made.err } end
local errors, at = { '' }, 1
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  local answer = redis.pcall(unpack(ARGV, at + 1, at + words))
  errors[#errors + 1] = type(answer) == 'table' and answer.err or ''
  at = at + 1 + words
end
return errors
