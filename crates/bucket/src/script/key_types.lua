-- Finds keys that have a wrong type.
--
-- KEYS  the keys
-- ARGV  the expected type of each
-- Result  { index in KEYS, actual type }…
local COUNTS = { hash = 'HLEN', list = 'LLEN', stream = 'XLEN', zset = 'ZCARD' }

local function is_of(key, kind)
  if kind == 'string' then return redis.call('MGET', key)[1] end
  return type(redis.pcall(COUNTS[kind], key)) == 'number'
end

-- Without the command TYPE, which the ACL needn't allow.
local function kind_of(key)
  for _, kind in ipairs({ 'string', 'hash', 'zset', 'stream', 'list' }) do
    if is_of(key, kind) then return kind end
  end
  return 'key of another type'
end

local wrong = {}
for i, key in ipairs(KEYS) do
  if redis.call('EXISTS', key) == 1 and not is_of(key, ARGV[i]) then wrong[#wrong + 1] = { i, kind_of(key) } end
end
return wrong
