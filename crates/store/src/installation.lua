-- Reads what an installation is, and writes it where Redis holds nothing of it: a new one, or one whose Redis was
-- emptied.
--
-- KEYS  1 state (hash)
-- ARGV  1 the layout that the caller writes  2 a salt, for where none exists
-- Result  { layout, salt, is_new }; the salt is '' beside another layout that has none; is_new is 1 where Redis had
-- nothing of it, else 0
local function state()
  return unpack(redis.call('HMGET', KEYS[1], 'layout', 'salt'))
end

local layout, salt = state()
local is_new = layout and 0 or 1
if not layout or layout == ARGV[1] and not salt then
  -- After a write that needs no memory the others are carried out also at maxmemory.
  redis.call('HDEL', KEYS[1], '')
  redis.call('HSETNX', KEYS[1], 'layout', ARGV[1])
  redis.call('HSETNX', KEYS[1], 'salt', ARGV[2])
  layout, salt = state()
end
return { layout, salt or '', is_new }
