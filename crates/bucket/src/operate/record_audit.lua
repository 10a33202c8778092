-- Adds an entry to the audit log of a bucket, and drops the oldest ones.
--
-- needs: at_maxmemory, append_to
-- KEYS  1 tally (hash)  2 audit (stream), which has a TTL once the bucket is deleted
-- ARGV  1 maximum number of entries  2 id of the API key, '' if no keys are configured  3 action  4 detail
--       5 incarnation ('': the bucket isn't created over the API)
-- Result  the id of the entry
local AUDIT, most, key, action, detail = KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
-- A deleted bucket of this name has left the TTL.
if ARGV[5] == '' then redis.call('PERSIST', AUDIT) end
return append_to(AUDIT, 'MAXLEN', most, '*', 'key', key, 'action', action, 'detail', detail)
