-- Returns what a replica holds without knowing it: due at once for any replica, that delivery isn't counted.
--
-- needs: at_maxmemory, granted, kind/consumers, kind/leave_flows
-- KEYS  1 jobs  2 tally (hash)  3 replicas (hash)  4 takes (hash: consumer → number of a take or of such a question)
--       5 batches (hash: consumer → number of its last settled batch)  6 notices (zset), then the kind's, as in
--       settle.lua
-- ARGV  1 consumer  2 number of this question, counted with its takes: those before it that arrive only now do nothing
--       3 where to begin, '' at first  4 the most jobs to look at in this call
--       5 number of the batch that is being settled (0: none)
--       6 how many jobs are in it, then the ids of these and of the other jobs that it knows it holds
-- Result  where to go on, '' at the end
local keys = { jobs = KEYS[1], tally = KEYS[2], notices = KEYS[6] }
local REPLICAS, TAKES, BATCHES = KEYS[3], KEYS[4], KEYS[5]
local consumer, number, place, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local batch, in_batch = tonumber(ARGV[5]), tonumber(ARGV[6])
local IDS = 7
if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return '' end
-- It has asked again since: what it took after that is no stray.
if tonumber(number) <= (tonumber(redis.call('HGET', TAKES, consumer) or nil) or 0) then return '' end

-- A job of a batch that is settled, and whose answer was lost, was parked and is claimed again: a stray.
local settled = batch <= (tonumber(redis.call('HGET', BATCHES, consumer) or nil) or 0)
local known = {}
for i = settled and IDS + in_batch or IDS, #ARGV do known[ARGV[i]] = true end
-- What is of another type is found before anything is written.
check_held(true)
check_granted(keys.tally, 'HSET', 'ZADD')
local all_held, next = held_by(keys, consumer, most, place)
local left, deliveries = {}, {}
for _, held in ipairs(all_held) do
  if not known[job_id(held[1])] then left[#left + 1], deliveries[#left + 1] = held[1], held[2] end
end
leave_flows(left, keys.notices)
for i, job in ipairs(left) do release(keys, job, math.max(0, deliveries[i] - 1)) end
redis.call('HSET', TAKES, consumer, number)
return next
