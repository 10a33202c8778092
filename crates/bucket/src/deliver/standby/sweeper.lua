-- Makes a process the sweeper of a set of buckets for a while, unless another one is.
--
-- KEYS  1 sweeper (string)
-- ARGV  1 the process  2 ms for which it is the sweeper
-- Result  1; 0: another process is the sweeper
local SWEEPER, process, ms = KEYS[1], ARGV[1], tonumber(ARGV[2])
local sweeper = redis.call('GET', SWEEPER)
-- A longer TTL means that the Redis clock was set back: that sweeper may be dead.
if sweeper and sweeper ~= process and redis.call('PTTL', SWEEPER) <= ms then return 0 end
redis.call('SET', SWEEPER, process, 'PX', ms)
return 1
