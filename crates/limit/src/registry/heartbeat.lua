-- Counts a heartbeat of an intake, removes intakes that are gone, and returns all intakes, and the rules if they have
-- changed.
--
-- KEYS  1 the intakes (hash: intake → number of heartbeats)  2 the rules (hash: service → JSON)
--       3 their state (hash: version, bytes)
-- ARGV  1 this intake  2 the version of the rules that it knows; then pairs: an intake that seems gone, its last number
--       of heartbeats
-- Result  1 the version  2 { intake, heartbeats, … }  3 { service, rules, … }, nil if the known version is current
for i = 3, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then redis.call('HDEL', KEYS[1], ARGV[i]) end
end
-- At maxmemory no heartbeat is counted, but intakes still read changed rules.
redis.pcall('HINCRBY', KEYS[1], ARGV[1], 1)
local version = redis.call('HGET', KEYS[3], 'version') or '0'
local rules = version ~= ARGV[2] and redis.call('HGETALL', KEYS[2])
return { version, redis.call('HGETALL', KEYS[1]), rules }
