-- Reads jobs that are to be moved into another bucket, oldest first, as many as a script may read; and who takes jobs
-- here.
--
-- needs: at_maxmemory, constants, now, kind/consumers, kind/leaving
-- KEYS  1 jobs  2 tally (hash)  3 replicas (hash), then a stream's attempts (hash), unburied (hash),
--       failed (hash), throttled (zset), flow-state (hash), parked (zset), flows (zset) and ranges (zset) |
--       where a list's takers are counted (hash)
-- ARGV  1 where to begin: a stream's id after which, '' for the first | how many at the tail of a list stay there
--       2 the most jobs
-- Result  { ms of the Redis clock, { consumer, heartbeats or '' for one that is no member, … }, '1' at the end,
--           { id, fields | element, due in ms or '', failed attempts or '' where no call reported anything, '1' where
--             it waits for room among the dead letters }… }
local REPLICAS = KEYS[3]

local consumers = {}
for _, consumer in ipairs(consumers_of(KEYS[1])) do
  if consumer ~= PARKED_OWNER then
    consumers[#consumers + 1] = consumer
    consumers[#consumers + 1] = redis.call('HGET', REPLICAS, consumer) or ''
  end
end
local jobs, ended = read_leaving(KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2]))
return { whole(now_ms), consumers, ended and '1' or '0', unpack(jobs) }
