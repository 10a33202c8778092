-- A list that takes an element while it is shorter than its bound.
--
-- KEYS  1 the queue (list)
-- ARGV  1 bound  2 what to put in
-- Result  1 taken, 0 full
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('LPUSH', KEYS[1], ARGV[2])
return 1
