-- Fails where scripts or writes do.
--
-- KEYS  1 one that doesn't exist
-- Result  0
return redis.call('DEL', KEYS[1])
