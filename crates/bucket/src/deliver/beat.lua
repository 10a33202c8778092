-- A heartbeat, and a look at the others.
--
-- needs: at_maxmemory, kind/consumers
-- KEYS  1 jobs  2 replicas (hash), then where a list's takers are counted
-- ARGV  1 consumer
-- Result  { 'fenced' }
--         { 'alive', { consumer, heartbeats, … of all members }, { names of all who take or took and may hold jobs } }
local JOBS, REPLICAS, consumer = KEYS[1], KEYS[2], ARGV[1]
if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return { 'fenced' } end
redis.call('HINCRBY', REPLICAS, consumer, 1)
return { 'alive', redis.call('HGETALL', REPLICAS), enrolled(JOBS) }
