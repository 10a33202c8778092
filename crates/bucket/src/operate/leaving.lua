-- Reads jobs that are to be moved to another bucket, oldest first, as many as a script may read; and the consumers that
-- take jobs here.
--
-- needs: at_maxmemory, constants, now, kind/consumers, kind/leaving
-- KEYS  1 jobs  2 tally (hash)  3 replicas (hash), then a stream's attempts (hash), unburied (hash),
--       failed (hash), throttled (zset), flow-state (hash), parked (zset), flows (zset) and ranges (zset) |
--       a list's takers (hash)
-- ARGV  1 where to begin: in a stream the id after which, '' for the first | how many elements at a list's tail to skip
--       2 maximum number of jobs
-- Result  { ms of the Redis clock, { consumer, heartbeats or '' if it isn't a member, … }, '1' at the end,
--           { id, fields | element, due time in ms or '', failed attempts or '' if no attempt was recorded, '1' if the
--             job waits for room among the dead letters }… }
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
