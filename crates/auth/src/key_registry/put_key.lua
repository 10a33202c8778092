-- Makes a key, or changes it; within the number and the bytes that there may be. No two keys have one hash.
--
-- needs: now, granted, registry_changes, key_changes
-- KEYS  1 keys (hash)  2 changed (zset)  3 state (hash)  4 deleted (zset)  5 hashes (hash)  6 expires (zset)
--       7 audit (stream)
-- ARGV  1 id  2 the version that its caller knows ('': it isn't there)  3 its hash  4 ms at which it expires ('': it
--       doesn't)  5 what else is known of it  6 the most keys  7 the most bytes of all  8 the epoch of a registry that
--       begins  9 the id of the key that does this  10 what it does
-- Result  { 'put', version } | { 'changed': the version is another one } | { 'known_hash': another key has it } |
--         { 'many_keys' } | { 'many_bytes' }
local id, known, sha256, expires, more = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local most, most_bytes, epoch, by, detail = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8], ARGV[9], ARGV[10]

check_granted(REGISTRY, 'HGET', 'HSET', 'HDEL', 'ZADD', 'ZREM', 'ZRANGE', 'XADD')
-- First what needs memory: at maxmemory it is refused, and nothing was changed.
redis.call('HSETNX', STATE, 'epoch', epoch)
-- Then, because they take room: keys that expired a day ago.
local until_ms = digits(math.floor(now_us / 1000) - DAY_MS)
for _, expired in ipairs(redis.call('ZRANGE', EXPIRES, '-inf', until_ms, 'BYSCORE', 'LIMIT', 0, AT_ONCE)) do
  remove_key(expired, redis.call('HGET', REGISTRY, expired) or '')
end

local old = redis.call('HGET', REGISTRY, id)
if version_of(CHANGED, id, old) ~= known then return { 'changed' } end
local owner = redis.call('HGET', HASHES, sha256)
if owner and owner ~= id then return { 'known_hash' } end
if not old and redis.call('HLEN', REGISTRY) >= most then return { 'many_keys' } end
local text = table.concat({ sha256, expires, more }, ' ')
local grown = #text - (old and #old or 0)
local bytes = (tonumber(redis.call('HGET', STATE, 'bytes') or nil) or 0) + grown
if grown > 0 and bytes > most_bytes then return { 'many_bytes' } end

local hash_before = key_head(old)
if hash_before then redis.call('HDEL', HASHES, hash_before) end
redis.call('HSET', REGISTRY, id, text)
redis.call('HSET', HASHES, sha256, id)
redis.call('ZREM', DELETED, id)
redis.call('ZREM', EXPIRES, id)
if expires ~= '' then redis.call('ZADD', EXPIRES, expires, id) end
local version = note_change(id, grown)
forget_deleted(CHANGED, STATE, DELETED)
record(by, old and 'change' or 'create', id, detail)
return { 'put', version }
