-- Settles a batch of attempts of one replica. One look at its membership fences the batch: a job leaves a living
-- replica by that replica's own hand alone.
--
-- needs: at_maxmemory, now, pace, keep, outbox, record, kind/entry, kind/held, kind/leave_flows
-- KEYS  1 jobs  2 pace (hash)  3 meter (hash)  4 tally (hash)  5 replicas (hash)
--       6 batches (hash: consumer → number of its last settled batch)  7 outcomes (hash)  8 ended (zset)
--       9 dead (stream)  10 letters (hash)  11 sizes (zset)  12 holders (hash)  13 keyed jobs (hash)
--       14 key ends (zset)  15 notices (zset)  16 outbox (stream) where ends go elsewhere, then what the kind
--       keeps of claimed jobs: attempts (hash), unburied (hash), failed (hash), throttled (zset), flow-state (hash),
--       parked (zset), flows (zset), ranges (zset) | taken (list), takers (hash)
-- ARGV  1 consumer  2 number of this batch  3 what is kept (keep.lua)  4 mean µs of these attempts (0: none was called)
--       5 '1' when the rate is adaptive, then per job: the job as its kind names it (id | element), verb, three words
--       of the verb, ms to hold the bucket, how the upstream took the call ('answered', REFUSED_CALL or LATE_CALL, ''
--       where there was none) and the ms at which its job was taken
--         complete  record, bytes, caller or ''
--         park      ms to wait, what it counts: '1' failed, '0' throttled, '' not made, the failed attempt or ''
--         bury      record, reason, the failed attempt or ''
-- Result  'settled' | 'fenced'
local keys = {
  jobs = KEYS[1], meter = KEYS[3], tally = KEYS[4], outcomes = KEYS[7], ended = KEYS[8], dead = KEYS[9],
  letters = KEYS[10], sizes = KEYS[11], holders = KEYS[12], keyed_jobs = KEYS[13], key_ends = KEYS[14],
  notices = KEYS[15], keep = read_keep(ARGV[3]), outbox = open_outbox(ARGV[3], KEYS[16]),
}
local PACE, REPLICAS, BATCHES = KEYS[2], KEYS[5], KEYS[6]
local consumer, batch, call, is_adaptive = ARGV[1], ARGV[2], tonumber(ARGV[4]), ARGV[5] == '1'
local FIRST, WORDS = 6, 8

if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return 'fenced' end
-- A batch whose answer was lost comes again, and its first call may come after batches behind it.
if tonumber(batch) <= tonumber(redis.call('HGET', BATCHES, consumer) or 0) then return 'settled' end

-- All that can fail comes before the first write: a script doesn't roll back, and the batch is sent again.
check_types(keys)
local flows = redis.call('HGET', PACE, 'flows')
local finished, letters = {}, {}
for i = FIRST, #ARGV, WORDS do
  local verb = ARGV[i + 1]
  if verb == 'complete' then
    finished[#finished + 1] = ARGV[i]
  elseif verb == 'bury' then
    local job, _, outcome, reason, attempt = unpack(ARGV, i, i + WORDS - 1)
    check_letters(keys)
    letters[i] = letter_of(job, entry_of(keys.jobs, job), outcome, reason, attempt)
  end
end

-- What is finished leaves first and needs no memory: so it settles at maxmemory too.
if #finished > 0 then withdraw(keys, finished) end

local hold, calls, jobs = 0, {}, {}
for i = FIRST, #ARGV, WORDS do
  local job, verb, a, b, c, hold_ms, taken, taken_ms = unpack(ARGV, i, i + WORDS - 1)
  if verb == 'complete' then
    record(keys, job_id(job), a, 'delivered', tonumber(b), c)
  elseif verb == 'park' then
    if put_back(keys, job, tonumber(a), tonumber(b)) and c ~= '' then keep_failed(keys, job, c) end
  else
    bury_or_keep(keys, letters[i])
  end
  if hold_ms ~= '0' then hold = math.max(hold, tonumber(hold_ms)) end
  if flows then jobs[#jobs + 1] = job end
  if is_adaptive and taken ~= '' then calls[#calls + 1] = { taken = taken, at = tonumber(taken_ms) } end
end

if hold > 0 then
  local until_ms = tonumber(redis.call('HGET', PACE, 'hold') or 0)
  redis.call('HSET', PACE, 'hold', whole(math.max(until_ms, now_ms + hold)))
  redis.call('HSETNX', PACE, 'looked', whole(now_ms))
end
if flows then leave_flows(jobs, keys.notices) end
if is_adaptive then adapt(PACE, calls, hold) end
if call > 0 then
  local mean = tonumber(rates.texts.call or call)
  rates.changed.call = whole(mean + (call - mean) / 8)
end
record_exits(keys)
rates.flush(keys.meter)
redis.call('HSET', BATCHES, consumer, batch)
return 'settled'
