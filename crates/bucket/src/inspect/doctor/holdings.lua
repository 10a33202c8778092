-- Examines what one replica of a list bucket holds, and counts it again when asked to.
--
-- KEYS  1 what it holds (list)  2 replicas (hash)  3 takers (hash)
-- ARGV  1 consumer  2 '1' to repair
-- Result  { how many it holds, how many are counted, '1' when it is a member }
local consumer = ARGV[1]
local held = redis.call('LLEN', KEYS[1])
local counted = tonumber(redis.call('HGET', KEYS[3], consumer) or held)
if counted ~= held and ARGV[2] == '1' then redis.call('HSET', KEYS[3], consumer, held) end
return { held, counted, redis.call('HEXISTS', KEYS[2], consumer) == 1 and '1' or '' }
