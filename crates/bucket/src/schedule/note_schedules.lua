-- Notes that schedules of a bucket were changed, or that it has none because it was deleted.
--
-- needs: at_maxmemory, now, granted
-- KEYS  1 changes of schedules (hash)
-- ARGV  1 the bucket's name  2 '1': it was deleted, or '0'
-- Result  the number of the last change of all
local CHANGES, bucket, is_deleted = KEYS[1], ARGV[1], ARGV[2] == '1'
if is_deleted and redis.call('HEXISTS', CHANGES, bucket) == 0 then
  return tonumber(redis.call('HGET', CHANGES, '@') or nil) or 0
end
check_granted(CHANGES, 'HSET', 'HDEL')
-- One that is no number, as somebody has written it by hand, begins again behind those of the buckets.
if not tonumber(redis.call('HGET', CHANGES, '@') or '0') then
  local latest = 0
  local all = redis.call('HGETALL', CHANGES)
  for i = 2, #all, 2 do latest = math.max(latest, tonumber(all[i]) or 0) end
  redis.call('HSET', CHANGES, '@', whole(latest))
end
local number = redis.call('HINCRBY', CHANGES, '@', 1)
-- A name that comes back has another number than before.
if is_deleted then
  redis.call('HDEL', CHANGES, bucket)
else
  redis.call('HSET', CHANGES, bucket, number)
end
return number
