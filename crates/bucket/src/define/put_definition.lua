-- Creates or replaces the definition of a bucket, within the limits of all definitions together.
--
-- needs: now, granted, registry_changes, definition_text
-- KEYS  1 definitions (hash)  2 changed (zset)  3 state (hash)  4 deleted (zset)
-- ARGV  1 bucket  2 the version that the caller knows ('': it doesn't exist)  3 its capacity in bytes
--       4 the definition (JSON)  5 maximum number of buckets  6 maximum sum of capacities in bytes
--       7 maximum bytes of all definitions  8 the epoch, if the registry is new
-- Result  { 'put', version, incarnation } | { 'changed': the definition has another version } | { 'deleting': its
--         deletion must be completed first } | { 'many_buckets' } | { 'many_bytes' } | { 'many_definitions' } |
--         { 'many_deleted': too many other names were deleted within a day }
local DEFINITIONS, CHANGED, STATE, DELETED = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local bucket, known, capacity, text = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local most, most_bytes, most_text, epoch = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]

check_registry(DEFINITIONS, CHANGED, STATE, DELETED)
local old = redis.call('HGET', DEFINITIONS, bucket)
if version_of(CHANGED, bucket, old) ~= known then return { 'changed' } end
if old and is_being_deleted(old) then return { 'deleting' } end
local incarnation, capacity_before = definition_head(old)
if not old and redis.call('HLEN', DEFINITIONS) >= most then return { 'many_buckets' } end
local sums = redis.call('HMGET', STATE, 'bytes', 'text_bytes')
local grown, text_grown = capacity - (capacity_before or 0), #text - (old and #old or 0)
local bytes, text_bytes = (tonumber(sums[1]) or 0) + grown, (tonumber(sums[2]) or 0) + text_grown
if grown > 0 and bytes > most_bytes then return { 'many_bytes' } end
if text_grown > 0 and text_bytes > most_text then return { 'many_definitions' } end

check_granted(DEFINITIONS, 'HSET', 'ZADD', 'ZREM', 'ZRANGE', 'ZSCORE')
-- The first write needs memory: at maxmemory Redis refuses it, and nothing is changed.
redis.call('HSETNX', STATE, 'epoch', epoch)
forget_deleted(CHANGED, STATE, DELETED)
-- A deleted bucket keeps its audit log and `control` for a day, so the number of deleted names is limited.
local is_new = not old and not redis.call('ZSCORE', DELETED, bucket)
if is_new and redis.call('ZCARD', DELETED) >= MOST_REMEMBERED then return { 'many_deleted' } end

local version = next_version(STATE)
incarnation = incarnation or version
local stored = table.concat({ incarnation, whole(capacity), text }, ' ')
redis.call('HSET', DEFINITIONS, bucket, stored)
redis.call('ZADD', CHANGED, version, bucket)
redis.call('ZREM', DELETED, bucket)
text_bytes = text_bytes + #stored - #text
redis.call('HSET', STATE, 'version', version, 'bytes', whole(bytes), 'text_bytes', whole(text_bytes))
return { 'put', version, incarnation }
