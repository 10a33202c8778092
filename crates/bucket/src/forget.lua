-- Deletes a dead letter for good.
--
-- KEYS  1 dead (stream)  2 letters (hash)
-- ARGV  1 id of the job that died
-- Result  1, or 0 when there is no such letter
local letter = redis.call('HGET', KEYS[2], ARGV[1])
if not letter then return 0 end
redis.call('HDEL', KEYS[2], ARGV[1])
return redis.call('XDEL', KEYS[1], letter)
