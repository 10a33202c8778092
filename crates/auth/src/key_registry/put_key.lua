-- Creates or changes a key, within the maximum number and bytes of keys. No two keys may have the same hash.
--
-- needs: now, granted, registry_changes, key_changes
-- KEYS  1 keys (hash)  2 changed (zset)  3 state (hash)  4 deleted (zset)  5 hashes (hash)  6 expires (zset)
--       7 audit (stream)
-- ARGV  1 id  2 the version that the caller knows ('': new)  3 hash  4 expiry in ms ('': never)  5 its JSON
--       6 maximum keys  7 maximum bytes of all keys  8 the epoch for a new registry  9 the id of the acting key
--       10 detail for the audit log
-- Result  { 'put', version } | { 'changed': it has another version } | { 'known_hash': another key has the hash } |
--         { 'many_keys' } | { 'many_bytes' }
local id, known, sha256, expires, more = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local most, most_bytes, epoch, by, detail = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8], ARGV[9], ARGV[10]

check_granted(REGISTRY, 'HGET', 'HSET', 'HDEL', 'ZADD', 'ZREM', 'ZRANGE', 'XADD')
-- First a write that needs memory: at maxmemory it is refused before anything has changed.
redis.call('HSETNX', STATE, 'epoch', epoch)
-- Then removes keys that expired a day ago, to make room.
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
