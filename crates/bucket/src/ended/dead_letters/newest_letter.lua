-- Finds the newest dead letter.
--
-- KEYS  1 dead (stream)
-- Result  its id, '0-0' where none is there
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
return newest and newest[1] or '0-0'
