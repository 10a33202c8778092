-- Reads outcome jobs that wait for their buckets, oldest first, for one process at a time: what several submit would be
-- found to be there already, and have cost as much.
--
-- needs: at_maxmemory, behind
-- KEYS  1 outbox (stream)  2 lease (string: name of the process)
-- ARGV  1 name of this process  2 ms of its lease  3 the id after which to begin, '' for the first  4 the most
-- Result  { how many there are, '1' when this process is the one, { id, fields }… }
local OUTBOX, LEASE = KEYS[1], KEYS[2]
local name, lease_ms, after, most = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

local waiting = redis.call('XLEN', OUTBOX)
if waiting == 0 then return { 0, '' } end
local other = redis.call('GET', LEASE)
-- One that lasts longer was taken before the clock of Redis was set back: who had it may be dead.
if other and other ~= name and redis.call('PTTL', LEASE) <= lease_ms then return { waiting, '' } end
redis.call('SET', LEASE, name, 'PX', lease_ms)
local from = after == '' and '-' or '(' .. after
return { waiting, '1', unpack(entries_between(OUTBOX, from, '+', most)) }
