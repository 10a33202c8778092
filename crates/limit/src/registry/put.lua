-- Registers a service, or gives it other rules.
--
-- needs: now
-- KEYS  1 the rules (hash: service → JSON)  2 their state (hash: version, bytes)
-- ARGV  1 the service  2 its rules  3 the most services there may be  4 the most bytes of rules over all of them
--       5 'any': whatever there is now; 'known': only these  6 the rules that its caller knows ('': none)
-- Result  'registered'; or 'changed': there are other rules, 'many services', 'many bytes': nothing was changed
local old = redis.call('HGET', KEYS[1], ARGV[1])
if ARGV[5] == 'known' and (old or '') ~= ARGV[6] then return 'changed' end
if not old and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return 'many services' end
local grown = #ARGV[2] - (old and #old or 0)
local state = redis.call('HMGET', KEYS[2], 'bytes', 'version')
local bytes = (tonumber(state[1]) or 0) + grown
if grown > 0 and bytes > tonumber(ARGV[4]) then return 'many bytes' end
-- By the clock, so that a Redis that came back without its rules doesn't come to a version that intakes know.
local version = math.max(now_us, (tonumber(state[2]) or 0) + 1)
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[2], 'bytes', string.format('%.0f', bytes), 'version', string.format('%.0f', version))
return 'registered'
