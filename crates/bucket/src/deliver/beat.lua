-- A heartbeat, and a look at the others.
--
-- KEYS  1 jobs  2 replicas (hash), then where a list's takers are counted
-- ARGV  1 consumer
-- Result  { 'fenced' }
--         { 'alive', { consumer, heartbeats, … of all members }, { names of all who take or took and may hold jobs } }
local JOBS, REPLICAS = KEYS[1], KEYS[2]
if redis.call('HEXISTS', REPLICAS, ARGV[1]) == 0 then return { 'fenced' } end
redis.call('HINCRBY', REPLICAS, ARGV[1], 1)
return { 'alive', redis.call('HGETALL', REPLICAS), enrolled(JOBS) }
