-- Settles a batch of attempts of one replica. One look at its membership fences the batch: a job leaves a living replica by
-- that replica's own hand alone.
--
-- KEYS  1 jobs  2 pace (hash)  3 meter (hash)  4 tally (hash)  5 replicas (hash)
--       6 batches (hash: consumer → number of its last settled batch)  7 outcomes (hash)  8 ended (zset)  9 dead (stream)
--       10 letters (hash)  11 holders (hash), then what the kind keeps of held jobs: parked (zset), attempts (hash) |
--       taken (list), takers (hash)
-- ARGV  1 consumer  2 number of this batch  3 ms to keep outcomes  4 the most outcomes  5 the most dead letters
--       6 mean µs of these attempts (0: none was called)  7 '1' when the rate is adaptive, then per job: the job as its
--       kind names it (id | element), verb, three words of the verb, ms to hold the bucket, how the upstream took the call
--       ('answered' | 'refused' | 'late', '' where there was none) and the ms at which its job was taken
--         complete  record, bytes, caller or ''
--         park      ms to wait, '1' when the attempt counts, ''
--         bury      record, reason, ''
-- Result  'settled' | 'fenced'
local keys = {
  jobs = KEYS[1], meter = KEYS[3], tally = KEYS[4], outcomes = KEYS[7], ended = KEYS[8], dead = KEYS[9], letters = KEYS[10],
  holders = KEYS[11],
}
local PACE, REPLICAS, BATCHES = KEYS[2], KEYS[5], KEYS[6]
local consumer, batch = ARGV[1], ARGV[2]
local most_dead = tonumber(ARGV[5])
local FIRST, WORDS = 8, 8

if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return 'fenced' end
-- A batch whose answer was lost comes again, and its first call may come after batches behind it.
if tonumber(batch) <= tonumber(redis.call('HGET', BATCHES, consumer) or 0) then return 'settled' end

-- What is finished leaves first and needs no memory: so it settles at maxmemory too.
local finished = {}
for i = FIRST, #ARGV, WORDS do
  if ARGV[i + 1] == 'complete' then finished[#finished + 1] = ARGV[i] end
end
if #finished > 0 then withdraw(keys, finished) end

local gone, hold, calls = #finished, 0, {}
for i = FIRST, #ARGV, WORDS do
  local job, verb, a, b, c = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  if verb == 'complete' then
    record(keys, job_id(job), a, 'delivered', tonumber(b), c)
  elseif verb == 'park' then
    put_back(keys, job, tonumber(a), b == '1')
  else
    bury(keys, job, a, b, most_dead)
    gone = gone + 1
  end
  hold = math.max(hold, tonumber(ARGV[i + 5]))
  if ARGV[i + 6] ~= '' then calls[#calls + 1] = { taken = ARGV[i + 6], at = tonumber(ARGV[i + 7]) } end
end

if hold > 0 then
  local until_ms = tonumber(redis.call('HGET', PACE, 'hold') or 0)
  redis.call('HSET', PACE, 'hold', whole(math.max(until_ms, now_ms + hold)))
end
if ARGV[7] == '1' then adapt(PACE, calls, hold) end
departed(keys, gone)
forget_outcomes(keys, tonumber(ARGV[3]), tonumber(ARGV[4]))
local call = tonumber(ARGV[6])
if call > 0 then
  local mean = tonumber(redis.call('HGET', keys.meter, 'call') or call)
  redis.call('HSET', keys.meter, 'call', whole(mean + (call - mean) / 8))
end
redis.call('HSET', BATCHES, consumer, batch)
return 'settled'
