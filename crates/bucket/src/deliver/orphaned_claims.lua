-- Requeues jobs that a replica has claimed without knowing it: due at once, without counting the delivery.
--
-- needs: at_maxmemory, granted, kind/consumers, kind/leave_flows
-- KEYS  1 jobs  2 tally (hash)  3 replicas (hash)  4 takes (hash: consumer → number of a take or of such a call)
--       5 batches (hash: consumer → number of its last settled batch)  6 notices (zset), then the kind's, as in
--       settle.lua
-- ARGV  1 consumer  2 number of this call, counted with its takes: earlier takes that arrive later do nothing
--       3 cursor, '' at first  4 maximum jobs to check in this call
--       5 number of the batch that is being settled (0: none)
--       6 how many jobs are in it, then the ids of these and of the other jobs that it knows
-- Result  the next cursor, '' at the end
local keys = { jobs = KEYS[1], tally = KEYS[2], notices = KEYS[6] }
local REPLICAS, TAKES, BATCHES = KEYS[3], KEYS[4], KEYS[5]
local consumer, number, place, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local batch, in_batch = tonumber(ARGV[5]), tonumber(ARGV[6])
local IDS = 7
if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return '' end
-- A later call or take was executed before this one: its jobs aren't orphans.
if tonumber(number) <= (tonumber(redis.call('HGET', TAKES, consumer) or nil) or 0) then return '' end

-- If the batch is settled already, a job of it that is claimed was parked by it, and claimed again: an orphan.
local settled = batch <= (tonumber(redis.call('HGET', BATCHES, consumer) or nil) or 0)
local known = {}
for i = settled and IDS + in_batch or IDS, #ARGV do known[ARGV[i]] = true end
-- Keys of another type, and denied commands, are found before the first write.
check_held(true)
check_granted(keys.tally, 'HSET', 'ZADD')
local claimed, next = held_by(keys, consumer, most, place)
local orphans, deliveries = {}, {}
for _, claim in ipairs(claimed) do
  if not known[job_id(claim[1])] then
    orphans[#orphans + 1], deliveries[#orphans + 1] = claim[1], claim[2]
  end
end
leave_flows(orphans, keys.notices)
for i, job in ipairs(orphans) do release(keys, job, math.max(0, deliveries[i] - 1)) end
redis.call('HSET', TAKES, consumer, number)
return next
