-- Reads outcome jobs that wait for their buckets, oldest first, for the process that has the lease. Several processes
-- would submit the same jobs, and all but the first submission would be repeated ones.
--
-- needs: at_maxmemory, behind
-- KEYS  1 outbox (stream)  2 lease (string: name of the process)
-- ARGV  1 name of this process  2 ms of its lease  3 the id after which to begin, '' for the first  4 maximum entries
-- Result  { length of the outbox, '1' if this process has the lease, else '', { id, fields }… }
local OUTBOX, LEASE = KEYS[1], KEYS[2]
local name, lease_ms, after, most = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

local waiting = redis.call('XLEN', OUTBOX)
if waiting == 0 then return { 0, '' } end
local other = redis.call('GET', LEASE)
-- A lease with a longer TTL was taken before the Redis clock was set back, and its owner may be dead.
if other and other ~= name and redis.call('PTTL', LEASE) <= lease_ms then return { waiting, '' } end
redis.call('SET', LEASE, name, 'PX', lease_ms)
local from = after == '' and '-' or '(' .. after
return { waiting, '1', unpack(entries_between(OUTBOX, from, '+', most)) }
