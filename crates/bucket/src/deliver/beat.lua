-- Sends a heartbeat, and reads those of the others.
--
-- needs: at_maxmemory, now, counts, kind/consumers
-- KEYS  1 jobs  2 replicas (hash)  3 members (hash), then of a list its takers (hash)
-- ARGV  1 consumer
-- Result  { 'fenced' }
--         { 'alive', { consumer, heartbeats, … of all members }, { all consumers that may have claimed jobs } }
local JOBS, REPLICAS, MEMBERS, consumer = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return { 'fenced' } end
count_up(REPLICAS, consumer, 1)
-- Members of earlier versions have no entry, or one without the lease.
local joined, lasts = string.match(redis.call('HGET', MEMBERS, consumer) or '', '^(%d+) %d+(.*)$')
if joined then redis.call('HSET', MEMBERS, consumer, joined .. ' ' .. whole(now_ms) .. lasts) end
local members = redis.call('HGETALL', REPLICAS)
-- Counts that aren't numbers, written by hand, begin again at 0, so that a dead member with one is recovered, too.
for i = 2, #members, 2 do
  if not string.find(members[i], '^%d+$') then
    redis.call('HSET', REPLICAS, members[i - 1], 0)
    members[i] = '0'
  end
end
return { 'alive', members, consumers_of(JOBS) }
