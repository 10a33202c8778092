-- A gate that is shut while its key lives. TTL reports whole seconds, rounded: a gate of one second opens after half of
-- it.
--
-- KEYS  1 the gate (string)
-- ARGV  1 ms for which it shuts
-- Result  1 passes, 0 doesn't
if redis.call('TTL', KEYS[1]) > 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[1])
return 1
