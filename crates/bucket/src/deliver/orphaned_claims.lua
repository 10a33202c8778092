-- Returns what a replica holds without knowing it: due at once for any replica, that delivery isn't counted.
--
-- needs: at_maxmemory, kind/held
-- KEYS  1 jobs  2 tally (hash)  3 replicas (hash)  4 takes (hash: consumer → number of a take or of such a question)
--       5 batches (hash: consumer → number of its last settled batch), then the kind's, as in settle.lua
-- ARGV  1 consumer  2 number of this question, counted with its takes: those before it that arrive only now do nothing
--       3 the most jobs to return in this call  4 number of the batch that is being settled (0: none)
--       5 how many jobs are in it, then the ids of these and of the other jobs that it knows it holds
-- Result  how many were returned
local keys = { jobs = KEYS[1], tally = KEYS[2] }
local REPLICAS, TAKES, BATCHES = KEYS[3], KEYS[4], KEYS[5]
local consumer, number, most = ARGV[1], ARGV[2], tonumber(ARGV[3])
local batch, in_batch = tonumber(ARGV[4]), tonumber(ARGV[5])
local IDS = 6
if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return 0 end
-- It has asked again since: what it took after that is no stray.
if tonumber(number) <= tonumber(redis.call('HGET', TAKES, consumer) or 0) then return 0 end
redis.call('HSET', TAKES, consumer, number)

-- A job of a batch that is settled, and whose answer was lost, was parked and is claimed again: a stray.
local settled = batch <= tonumber(redis.call('HGET', BATCHES, consumer) or 0)
local known = {}
for i = settled and IDS + in_batch or IDS, #ARGV do known[ARGV[i]] = true end
local given_back = 0
for _, held in ipairs(held_by(keys, consumer, most + #ARGV - IDS + 1)) do
  local job, deliveries = held[1], held[2]
  if not known[job_id(job)] and given_back < most then
    release(keys, job, math.max(0, deliveries - 1))
    given_back = given_back + 1
  end
end
return given_back
