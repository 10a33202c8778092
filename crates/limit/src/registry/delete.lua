-- Forgets the rules of a service.
--
-- needs: now
-- KEYS  1 the rules (hash: service → JSON)  2 their state (hash: version, bytes)
-- ARGV  1 the service
-- Result  1; 0: there were none
local old = redis.call('HGET', KEYS[1], ARGV[1])
if not old then return 0 end
local state = redis.call('HMGET', KEYS[2], 'bytes', 'version')
local bytes = math.max(0, (tonumber(state[1]) or 0) - #old)
local version = math.max(now_us, (tonumber(state[2]) or 0) + 1)
-- What needs no memory comes first: then it can be done at maxmemory too.
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[2], 'bytes', string.format('%.0f', bytes), 'version', string.format('%.0f', version))
return 1
