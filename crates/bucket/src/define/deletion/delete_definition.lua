-- Deletes the definition of a bucket. Its name is remembered for a day, so that processes learn of the deletion.
--
-- needs: at_maxmemory, now, granted, registry_changes, definition_text
-- KEYS  1 definitions (hash)  2 changed (zset)  3 state (hash)  4 deleted (zset)
-- ARGV  1 bucket  2 its incarnation
-- Result  1; 0: the definition doesn't exist, or is of another incarnation
local DEFINITIONS, CHANGED, STATE, DELETED = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local bucket, wanted = ARGV[1], ARGV[2]

check_registry(DEFINITIONS, CHANGED, STATE, DELETED)
local old = redis.call('HGET', DEFINITIONS, bucket)
local incarnation, capacity = definition_head(old)
if not old or (incarnation or '0') ~= wanted then return 0 end
check_granted(DEFINITIONS, 'HMGET', 'HSET', 'ZADD', 'ZREM', 'ZRANGE')
local version = next_version(STATE)
redis.call('HDEL', DEFINITIONS, bucket)
redis.call('ZADD', CHANGED, version, bucket)
redis.call('ZADD', DELETED, version, bucket)
local sums = redis.call('HMGET', STATE, 'bytes', 'text_bytes')
local bytes = math.max(0, (tonumber(sums[1]) or 0) - (capacity or 0))
local text_bytes = math.max(0, (tonumber(sums[2]) or 0) - #old)
redis.call('HSET', STATE, 'version', version, 'bytes', whole(bytes), 'text_bytes', whole(text_bytes))
forget_deleted(CHANGED, STATE, DELETED)
return 1
