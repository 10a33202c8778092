-- As denied.lua, before Redis 7.0, where scripts have no flags. Creates the key as a string, so that calls for other
-- types fail after Redis has checked their permission. So calls that change strings must come last, and DEL at the end.
--
-- KEYS  1 a key that doesn't exist
-- ARGV  per call: the number of its words, then the words
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
