-- Removes the rules of a service.
--
-- needs: now, granted, record_rules
-- KEYS  1 the rules (hash: service → JSON)  2 their state (hash: version, bytes)  3 audit (stream)
-- ARGV  1 the service  2 the rules that it has, as far as known  3… for the audit log, as of record_rules
-- Result  { 'deleted' }; { 'none' }: the service isn't registered; { 'changed', the rules that it has }: nothing was
--         changed
local service, known = ARGV[1], ARGV[2]
local old = redis.call('HGET', KEYS[1], service)
if not old then return { 'none' } end
if old ~= known then return { 'changed', old } end
local state = redis.call('HMGET', KEYS[2], 'bytes', 'version')
local bytes = math.max(0, (tonumber(state[1]) or 0) - #old)
local version = math.max(now_us, (tonumber(state[2]) or 0) + 1)
check_granted(KEYS[2], 'HSET')
check_audit(KEYS[3])
-- Frees memory first, so that all commands succeed at maxmemory.
redis.call('HDEL', KEYS[1], service)
redis.call('HSET', KEYS[2], 'bytes', string.format('%.0f', bytes), 'version', string.format('%.0f', version))
record_rules(KEYS[3], service, unpack(ARGV, 3))
return { 'deleted' }
