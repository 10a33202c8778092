-- Returns how often the schedules of each bucket were changed, if any were.
--
-- KEYS  1 changes of schedules (hash)
-- ARGV  1 how often all of them were, as its caller knows it
-- Result  {}: no others | names and numbers, `@` for all
local CHANGES, known = KEYS[1], ARGV[1]
if (redis.call('HGET', CHANGES, '@') or '0') == known then return {} end
local changes = redis.call('HGETALL', CHANGES)
return #changes > 0 and changes or { '@', '0' }
