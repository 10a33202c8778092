-- Revokes a key that was created over the API.
--
-- needs: granted, registry_changes, key_changes
-- KEYS  1 keys (hash)  2 changed (zset)  3 state (hash)  4 deleted (zset)  5 hashes (hash)  6 expires (zset)
--       7 audit (stream)
-- ARGV  1 id  2 the version that the caller knows  3 the id of the acting key
-- Result  { 'deleted' } | { 'gone': it doesn't exist } | { 'changed': it has another version }
local id, known, by = ARGV[1], ARGV[2], ARGV[3]

local old = redis.call('HGET', REGISTRY, id)
if not old then return { 'gone' } end
if version_of(CHANGED, id, old) ~= known then return { 'changed' } end
check_granted(REGISTRY, 'HSET', 'ZADD', 'ZREM', 'ZRANGE', 'XADD')
-- Begins with a command that needs no memory, so that it works at maxmemory.
remove_key(id, old)
forget_deleted(CHANGED, STATE, DELETED)
record(by, 'delete', id, '')
return { 'deleted' }
