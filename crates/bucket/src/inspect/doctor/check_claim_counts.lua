-- Compares the jobs that a consumer of a list bucket has claimed with their count, and corrects the count if asked to.
--
-- needs: at_maxmemory
-- KEYS  1 claimed jobs of the consumer (list)  2 replicas (hash)  3 takers (hash)
-- ARGV  1 consumer  2 '1' to repair
-- Result  { number of claimed jobs, their count in takers, '1' if the consumer is a member }
local TAKEN, REPLICAS, TAKERS = KEYS[1], KEYS[2], KEYS[3]
local consumer, is_repair = ARGV[1], ARGV[2] == '1'
local held = redis.call('LLEN', TAKEN)
local found = redis.call('HGET', TAKERS, consumer)
local counted = found and (tonumber(found) or 0) or held
if is_repair and (counted ~= held or found and not tonumber(found)) then redis.call('HSET', TAKERS, consumer, held) end
return { held, counted, redis.call('HEXISTS', REPLICAS, consumer) == 1 and '1' or '' }
