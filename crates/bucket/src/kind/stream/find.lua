-- Finds a job that is still in the stream.
--
-- needs: kind/pending, kind/view
-- KEYS  1 jobs (stream)  2 parked (zset)  3 attempts (hash)
-- ARGV  1 id
-- Result  {} | { id, state, failed attempts, due in ms or '', caller, consumer or '' }
local keys = { parked = KEYS[2], attempts = KEYS[3] }
local id = ARGV[1]
local found = redis.call('XRANGE', KEYS[1], id, id)[1]
return found and classify(keys, id, found[2], owner_of(KEYS[1], id)) or {}
