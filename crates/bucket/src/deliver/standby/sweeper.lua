-- Makes a process the sweeper of a set of buckets for a while, unless another is.
--
-- KEYS  1 sweeper (string)
-- ARGV  1 the process  2 ms after which it is the sweeper no more
-- Result  1; 0: another is
local SWEEPER, process, ms = KEYS[1], ARGV[1], tonumber(ARGV[2])
local sweeper = redis.call('GET', SWEEPER)
-- A turn that lasts longer began before the clock of Redis was set back: whose it was may be dead.
if sweeper and sweeper ~= process and redis.call('PTTL', SWEEPER) <= ms then return 0 end
redis.call('SET', SWEEPER, process, 'PX', ms)
return 1
