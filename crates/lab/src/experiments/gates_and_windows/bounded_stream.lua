-- A stream that takes an entry while it is shorter than its bound.
--
-- KEYS  1 the queue (stream)
-- ARGV  1 bound  2 what to put in
-- Result  1 taken, 0 full
if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('XADD', KEYS[1], '*', 'request_details', ARGV[2])
return 1
