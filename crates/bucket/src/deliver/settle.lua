-- Settles a batch of attempts of one replica. Membership is checked once for the batch: while a replica is a member,
-- only it can settle its jobs.
--
-- needs: at_maxmemory, now, record, kind/held
-- opens: open_rare = settle_rare
-- KEYS  1 jobs  2 pace (hash)  3 meter (hash)  4 tally (hash)  5 replicas (hash)
--       6 batches (hash: consumer → number of its last settled batch)  7 outcomes (hash)  8 ended (zset)
--       9 dead (stream)  10 letters (hash)  11 sizes (zset)  12 holders (hash)  13 keyed jobs (hash)
--       14 key ends (zset)  15 notices (zset)  16 outbox (stream) with on_outcome, then the kind's keys of claimed
--       jobs: attempts (hash), unburied (hash), failed (hash), throttled (zset), flow-state (hash),
--       parked (zset), flows (zset), ranges (zset) | taken (list), takers (hash)
-- ARGV  1 consumer  2 number of this batch  3 what is kept (keep.lua)  4 mean duration of the calls in µs (0: no calls)
--       5 ms to throttle the bucket (0: not)  6 if the rate is adaptive, for each call: the reaction of the upstream
--       ('answered', REFUSED_CALL or LATE_CALL), and the ms at which its job was taken, with a space behind each
--       7 the bytes of the completed jobs  8 number of their callers  9 number of completed jobs  10 number of their
--         records: one if all are equal  11 the bytes of each completed job, with a space behind each; then these jobs
--         (id | element), first those without a caller, then by caller; then their records; then per caller: its name,
--         jobs and bytes; then per other job: the job, its verb, and three arguments of the verb
--         park      ms to wait; the attempt: '1' failed, '0' throttled, '' not made; record of the failed attempt or ''
--         bury      record, reason, record of the failed attempt or ''
-- Result  'fenced' | 'settled', followed by the ids of the jobs that wait for room among the dead letters (never in a
--         list), and with '=' before the id of those that had ended before, with a space before each; none of these
--         for a repeated batch
local rare
local function opened_rare()
  rare = rare or open_rare()
  return rare
end

local keys = {
  jobs = KEYS[1], meter = KEYS[3], tally = KEYS[4], outcomes = KEYS[7], ended = KEYS[8], dead = KEYS[9],
  letters = KEYS[10], sizes = KEYS[11], holders = nil, keyed_jobs = KEYS[13], key_ends = KEYS[14],
  notices = KEYS[15], keep = ARGV[3],
  -- A second line names the targets of on_outcome.
  outbox = string.find(ARGV[3], '\n', 1, true) and opened_rare().open_outbox(ARGV[3], KEYS[16]),
}
local PACE, REPLICAS, BATCHES = KEYS[2], KEYS[5], KEYS[6]
local consumer, batch, mean_us, throttle_ms = ARGV[1], ARGV[2], tonumber(ARGV[4]), tonumber(ARGV[5])
local calls, freed, callers, completed = ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local records = tonumber(ARGV[10])
-- Where the parts of ARGV begin, and the number of arguments of a caller and of another job.
local SIZES, COMPLETED, OF_CALLER, OF_OTHER = 11, 12, 3, 5
local RECORDS = COMPLETED + completed
local CALLERS = RECORDS + records
local OTHERS = CALLERS + OF_CALLER * callers
-- `holders` has no entry for jobs without a caller.
if callers > 0 or OTHERS <= #ARGV then keys.holders = KEYS[12] end

if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return 'fenced' end
-- A batch whose answer was lost is sent again, and its first call may arrive after later batches.
if tonumber(batch) <= (tonumber(redis.call('HGET', BATCHES, consumer) or nil) or 0) then return 'settled' end

-- All that can fail comes before the first write: a script doesn't roll back, and the batch is sent again.
check_types(keys)
local letters, is_added = {}, {}
for i = OTHERS, #ARGV, OF_OTHER do
  if ARGV[i + 1] == 'bury' then
    local job, _, outcome, reason, attempt = unpack(ARGV, i, i + OF_OTHER - 1)
    letters[i] = opened_rare().exceptions().read_letter(keys, job, outcome, reason, attempt)
  end
end
-- Each of these reads its key before it writes.
local counts_callers = recorded.rare and redis.call('HGET', PACE, 'flows')
if throttle_ms > 0 then opened_rare().exceptions().throttle(PACE, throttle_ms) end
if calls ~= '' then opened_rare().exceptions().adapt(PACE, calls, throttle_ms) end
for i = OTHERS, #ARGV, OF_OTHER do
  if letters[i] and not letters[i].has_ended then is_added[i] = rare.exceptions().add_letter(keys, letters[i]) end
end

local parked, answer = {}, 'settled'
-- Completed jobs are removed first, which needs no memory: so they settle at maxmemory, too.
if completed > 0 then
  local jobs = { unpack(ARGV, COMPLETED, RECORDS - 1) }
  local outcomes = { unpack(ARGV, RECORDS, CALLERS - 1) }
  local absent = ack_and_delete(keys, jobs)
  if absent then
    freed = freed - opened_rare().exceptions().keep_absent(absent, ARGV[SIZES], CALLERS, OTHERS - 1)
    local over
    jobs, outcomes, over = rare.exceptions().not_ended_before(keys, jobs, outcomes, absent)
    for _, id in ipairs(over) do answer = answer .. ' =' .. id end
  end
  if recorded.rare or keys.outbox then
    opened_rare().record_each_delivered(keys, jobs, outcomes, freed)
  elseif #jobs > 0 then
    record_delivered(jobs, outcomes, freed)
  end
  for i = CALLERS, OTHERS - 1, OF_CALLER do count_held(ARGV[i], -ARGV[i + 1], -ARGV[i + 2]) end
end
for i = OTHERS, #ARGV, OF_OTHER do
  local job, _, wait, counts, attempt = unpack(ARGV, i, i + OF_OTHER - 1)
  if letters[i] and letters[i].has_ended then
    answer = answer .. ' =' .. letters[i].id
  elseif letters[i] then
    if not rare.exceptions().bury_or_keep(keys, letters[i], is_added[i]) then answer = answer .. ' ' .. job end
  else
    parked[#parked + 1] = { name = job, wait = tonumber(wait), counts = tonumber(counts), attempt = attempt }
  end
end
if #parked > 0 then opened_rare().put_each_back(keys, parked) end

-- Written with the other rates by record_exits, or else by the flush.
if mean_us > 0 then
  local mean = tonumber(rates.texts.call or nil) or mean_us
  rates.changed.call = whole(mean + (mean_us - mean) / 8)
end
record_exits(keys)
rates.flush(keys.meter)
redis.call('HSET', BATCHES, consumer, batch)
if counts_callers then
  local jobs = { unpack(ARGV, COMPLETED, RECORDS - 1) }
  for i = OTHERS, #ARGV, OF_OTHER do jobs[#jobs + 1] = ARGV[i] end
  opened_rare().exceptions().leave_flows(jobs, keys.notices)
end
return answer
