-- Finds a job: in the stream, or how it ended.
--
-- needs: kind/pending, kind/view
-- KEYS  1 jobs (stream)  2 parked (zset)  3 attempts (hash)  4 outcomes (hash)
-- ARGV  1 id
-- Result  {} | { id, state, failed attempts, due in ms or '', caller, consumer or '' } | { 'ended', its outcome }
local keys = { parked = KEYS[2], attempts = KEYS[3] }
local id = ARGV[1]
local found = redis.call('XRANGE', KEYS[1], id, id)[1]
if found then return classify(keys, id, found[2], owner_of(KEYS[1], id)) end
local outcome = redis.call('HGET', KEYS[4], id)
return outcome and { 'ended', outcome } or {}
