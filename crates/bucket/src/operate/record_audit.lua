-- Adds an entry to the audit log of a bucket; the oldest ones go.
--
-- needs: at_maxmemory, append_to
-- KEYS  1 tally (hash)  2 audit (stream), which has a TTL once the bucket is deleted
-- ARGV  1 the most entries  2 id of the key, '' where none is configured  3 action  4 detail
--       5 incarnation ('': it isn't created over the API)
-- Result  the id of the entry
local AUDIT, most, key, action, detail = KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
-- That TTL is another bucket's, which had this name.
if ARGV[5] == '' then redis.call('PERSIST', AUDIT) end
return append_to(AUDIT, 'MAXLEN', most, '*', 'key', key, 'action', action, 'detail', detail)
