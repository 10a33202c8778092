-- Registers a service, or replaces its rules.
--
-- needs: now
-- KEYS  1 the rules (hash: service → JSON)  2 their state (hash: version, bytes)
-- ARGV  1 the service  2 its rules  3 maximum number of services  4 maximum bytes of all rules
--       5 'any': whatever its rules; 'known': only if its rules are these  6 the rules ('': not registered)
-- Result  'registered'; or, if nothing was changed, 'changed' (it has other rules), 'many services' or 'many bytes'
local old = redis.call('HGET', KEYS[1], ARGV[1])
if ARGV[5] == 'known' and (old or '') ~= ARGV[6] then return 'changed' end
if not old and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return 'many services' end
local grown = #ARGV[2] - (old and #old or 0)
local state = redis.call('HMGET', KEYS[2], 'bytes', 'version')
local bytes = (tonumber(state[1]) or 0) + grown
if grown > 0 and bytes > tonumber(ARGV[4]) then return 'many bytes' end
-- At least the clock, so that a Redis that has lost its data doesn't reach a version that intakes know.
local version = math.max(now_us, (tonumber(state[2]) or 0) + 1)
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[2], 'bytes', string.format('%.0f', bytes), 'version', string.format('%.0f', version))
return 'registered'
