-- Removes the rules of a service.
--
-- needs: now, granted
-- KEYS  1 the rules (hash: service → JSON)  2 their state (hash: version, bytes)
-- ARGV  1 the service  2 'any': whatever its rules; 'known': only if its rules are these  3 the rules
-- Result  'deleted'; 'none': the service isn't registered; 'changed': it has other rules, and keeps them
local old = redis.call('HGET', KEYS[1], ARGV[1])
if not old then return 'none' end
if ARGV[2] == 'known' and old ~= ARGV[3] then return 'changed' end
local state = redis.call('HMGET', KEYS[2], 'bytes', 'version')
local bytes = math.max(0, (tonumber(state[1]) or 0) - #old)
local version = math.max(now_us, (tonumber(state[2]) or 0) + 1)
check_granted(KEYS[2], 'HSET')
-- Frees memory first, so that both commands succeed at maxmemory.
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[2], 'bytes', string.format('%.0f', bytes), 'version', string.format('%.0f', version))
return 'deleted'
