-- Registers a service, or replaces its rules.
--
-- needs: now, record_rules
-- KEYS  1 the rules (hash: service → JSON)  2 their state (hash: version, bytes)  3 audit (stream)
-- ARGV  1 the service  2 the rules that it has, as far as known ('': not registered)  3 its new rules
--       4 maximum number of services  5 maximum bytes of all rules  6… for the audit log, as of record_rules
-- Result  { 'registered' }; or, if nothing was changed, { 'changed', the rules that it has }, { 'many services' } or
--         { 'many bytes' }
local service, known, rules = ARGV[1], ARGV[2], ARGV[3]
local old = redis.call('HGET', KEYS[1], service)
if (old or '') ~= known then return { 'changed', old or '' } end
-- Nothing is recorded, as programs register the same rules at each start.
if old == rules then return { 'registered' } end
if not old and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then return { 'many services' } end
local grown = #rules - (old and #old or 0)
local state = redis.call('HMGET', KEYS[2], 'bytes', 'version')
local bytes = (tonumber(state[1]) or 0) + grown
if grown > 0 and bytes > tonumber(ARGV[5]) then return { 'many bytes' } end
-- At least the clock, so that a Redis that has lost its data doesn't reach a version that intakes know.
local version = math.max(now_us, (tonumber(state[2]) or 0) + 1)
check_audit(KEYS[3])
redis.call('HSET', KEYS[1], service, rules)
redis.call('HSET', KEYS[2], 'bytes', string.format('%.0f', bytes), 'version', string.format('%.0f', version))
record_rules(KEYS[3], service, unpack(ARGV, 6))
return { 'registered' }
