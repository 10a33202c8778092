-- A heartbeat, and a look at the others.
--
-- needs: at_maxmemory, now, counts, kind/consumers
-- KEYS  1 jobs  2 replicas (hash)  3 members (hash), then where a list's takers are counted
-- ARGV  1 consumer
-- Result  { 'fenced' }
--         { 'alive', { consumer, heartbeats, … of all members }, { names of all who take or took and may hold jobs } }
local JOBS, REPLICAS, MEMBERS, consumer = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return { 'fenced' } end
count_up(REPLICAS, consumer, 1)
-- An earlier version noted no time when it joined, or not how long it lasts without a heartbeat.
local joined, lasts = string.match(redis.call('HGET', MEMBERS, consumer) or '', '^(%d+) %d+(.*)$')
if joined then redis.call('HSET', MEMBERS, consumer, joined .. ' ' .. whole(now_ms) .. lasts) end
local members = redis.call('HGETALL', REPLICAS)
-- Heartbeats that are no number, as somebody has written them by hand, begin again: one that is dead is taken over.
for i = 2, #members, 2 do
  if not string.find(members[i], '^%d+$') then
    redis.call('HSET', REPLICAS, members[i - 1], 0)
    members[i] = '0'
  end
end
return { 'alive', members, consumers_of(JOBS) }
