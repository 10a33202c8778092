-- Fails if scripts or writes fail.
--
-- KEYS  1 a key that doesn't exist
-- Result  0
return redis.call('DEL', KEYS[1])
