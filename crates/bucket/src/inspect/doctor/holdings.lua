-- Examines what one replica of a list bucket holds, and counts it again when asked to.
--
-- needs: at_maxmemory
-- KEYS  1 what it holds (list)  2 replicas (hash)  3 takers (hash)
-- ARGV  1 consumer  2 '1' to repair
-- Result  { how many it holds, how many are counted, '1' when it is a member }
local TAKEN, REPLICAS, TAKERS = KEYS[1], KEYS[2], KEYS[3]
local consumer, mend = ARGV[1], ARGV[2] == '1'
local held = redis.call('LLEN', TAKEN)
local found = redis.call('HGET', TAKERS, consumer)
local counted = found and (tonumber(found) or 0) or held
if mend and (counted ~= held or found and not tonumber(found)) then redis.call('HSET', TAKERS, consumer, held) end
return { held, counted, redis.call('HEXISTS', REPLICAS, consumer) == 1 and '1' or '' }
