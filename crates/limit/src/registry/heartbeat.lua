-- Beats for an intake, forgets those that are gone, and shows what there is.
--
-- KEYS  1 the intakes (hash: intake → heartbeats)  2 the rules (hash: service → JSON)
--       3 their state (hash: version, bytes)
-- ARGV  1 this intake  2 the version of the rules that it knows; then pairs: an intake that seems gone, its last
--       heartbeat
-- Result  1 the version  2 intakes and heartbeats, by turns  3 services and rules, by turns; nil: as known
for i = 3, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then redis.call('HDEL', KEYS[1], ARGV[i]) end
end
-- At maxmemory nobody's heart beats, and everybody still learns of rules.
redis.pcall('HINCRBY', KEYS[1], ARGV[1], 1)
local version = redis.call('HGET', KEYS[3], 'version') or '0'
local rules = version ~= ARGV[2] and redis.call('HGETALL', KEYS[2])
return { version, redis.call('HGETALL', KEYS[1]), rules }
