-- Notes that schedules of a bucket were changed, or removes the note of a bucket that was deleted.
--
-- needs: at_maxmemory, now, granted
-- KEYS  1 changes of schedules (hash)
-- ARGV  1 the bucket's name  2 '1': it was deleted, or '0'
-- Result  the number of the last change in any bucket
local CHANGES, bucket, is_deleted = KEYS[1], ARGV[1], ARGV[2] == '1'
if is_deleted and redis.call('HEXISTS', CHANGES, bucket) == 0 then
  return tonumber(redis.call('HGET', CHANGES, '@') or nil) or 0
end
check_granted(CHANGES, 'HSET', 'HDEL')
-- A counter that isn't a number, written by hand, continues behind the largest number of a bucket.
if not tonumber(redis.call('HGET', CHANGES, '@') or '0') then
  local latest = 0
  local all = redis.call('HGETALL', CHANGES)
  for i = 2, #all, 2 do latest = math.max(latest, tonumber(all[i]) or 0) end
  redis.call('HSET', CHANGES, '@', whole(latest))
end
local number = redis.call('HINCRBY', CHANGES, '@', 1)
-- A bucket that is created again with this name gets another number, because the counter stays.
if is_deleted then
  redis.call('HDEL', CHANGES, bucket)
else
  redis.call('HSET', CHANGES, bucket, number)
end
return number
