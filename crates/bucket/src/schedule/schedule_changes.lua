-- Returns the number of the last change of each bucket's schedules, if any were changed.
--
-- KEYS  1 changes of schedules (hash)
-- ARGV  1 the number of the last change in any bucket that the caller knows
-- Result  {}: no later changes | names of buckets and numbers, `@` for the last change in any bucket
local CHANGES, known = KEYS[1], ARGV[1]
if (redis.call('HGET', CHANGES, '@') or '0') == known then return {} end
local changes = redis.call('HGETALL', CHANGES)
return #changes > 0 and changes or { '@', '0' }
