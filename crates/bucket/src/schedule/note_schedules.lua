-- Notes that schedules of a bucket were changed.
--
-- needs: at_maxmemory
-- KEYS  1 changes of schedules (hash)
-- ARGV  1 the bucket's name
-- Result  how often those of the bucket were changed
local CHANGES, bucket = KEYS[1], ARGV[1]
redis.call('HINCRBY', CHANGES, '@', 1)
return redis.call('HINCRBY', CHANGES, bucket, 1)
