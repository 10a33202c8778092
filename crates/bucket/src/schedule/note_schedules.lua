-- Notes that schedules of a bucket were changed, or that it has none because it was deleted.
--
-- needs: at_maxmemory
-- KEYS  1 changes of schedules (hash)
-- ARGV  1 the bucket's name  2 '1': it was deleted, or '0'
-- Result  the number of the last change of all
local CHANGES, bucket, is_deleted = KEYS[1], ARGV[1], ARGV[2] == '1'
if is_deleted and redis.call('HEXISTS', CHANGES, bucket) == 0 then
  return tonumber(redis.call('HGET', CHANGES, '@') or 0)
end
local number = redis.call('HINCRBY', CHANGES, '@', 1)
-- A name that comes back has another number than before.
if is_deleted then
  redis.call('HDEL', CHANGES, bucket)
else
  redis.call('HSET', CHANGES, bucket, number)
end
return number
