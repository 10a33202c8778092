-- How jobs end: what is recorded of each, and burying one as a dead letter. Hash outcomes, job id → 'ms record'; zset
-- ended, ids of jobs by ms (order.lua); both bounded by time, number and bytes, which the tally counts.
-- needs: now, counts, keep, notices, kind/held

-- What is to be written (record_exits), and what check_types saw, nil where it didn't look: `before`, how many outcomes
-- there were; `any_old`, whether any of them is too old; `rare`, whether any of the keys is there that few buckets
-- have.
local recorded = {
  outcomes = {}, ids = {}, results = { delivered = nil }, jobs = 0, bytes = 0, freed = 0, ms = whole(now_ms) .. ' ',
  before = nil, any_old = nil, rare = nil, tally = nil,
}

-- Those who wait for the end of a job are notified of it by a message, which is published only where somebody waits.
local function publish_ends(notices)
  local MOST = 1000
  if recorded.rare == false or redis.call('EXISTS', notices) == 0 then return end
  for from = 1, recorded.jobs, MOST do
    local ids, waited = { unpack(recorded.ids, from, math.min(recorded.jobs, from + MOST - 1)) }, {}
    for i, until_ms in ipairs(redis.call('ZMSCORE', notices, unpack(ids))) do
      if until_ms then waited[#waited + 1] = ids[i] end
    end
    if #waited > 0 then
      redis.call('ZREM', notices, unpack(waited))
      publish(notices, 'ended ' .. table.concat(waited, ' '))
    end
  end
end

local keep_failed, failed_lines
do
  -- The latest failed attempts of a job, with one more.
  local function with_failed(keep, before, attempt)
    local lines = {}
    for line in string.gmatch(before or '', '[^\n]+') do lines[#lines + 1] = line end
    lines[#lines + 1] = attempt
    return table.concat(lines, '\n', math.max(1, #lines - keep.failed + 1))
  end

  -- Of a job that stays in the bucket.
  function keep_failed(keys, id, attempt)
    write_failed(id, with_failed(keep_of(keys), failed_of(id), attempt), keep_of(keys).most_failed)
  end

  -- Behind a record: what was kept of the job's failed attempts, and the last one, where it ended the job. It is
  -- forgotten with the record.
  function failed_lines(keys, id, attempt)
    local failed = failed_of(id)
    if failed then forget_failed(id) end
    if attempt then failed = with_failed(keep_of(keys), failed, attempt) end
    return failed and '\n' .. failed or ''
  end
end

-- `text`: all that is kept of its end.
local function note_outcome(id, text)
  local jobs = recorded.jobs + 1
  recorded.outcomes[2 * jobs - 1], recorded.outcomes[2 * jobs], recorded.ids[jobs] = id, text, id
  recorded.jobs, recorded.bytes = jobs, recorded.bytes + #text
end

local function count_results(result, jobs)
  recorded.results[result] = (recorded.results[result] or 0) + jobs
end

-- Call it after the job has left the bucket, which gets back its bytes and its caller's place; `record_exits` writes
-- it. `caller`, `attempt`, the failed one that ended the job, and `chain`, as its entry has it, may be nil.
local function record(keys, id, outcome, result, size, caller, attempt, chain)
  note_outcome(id, recorded.ms .. outcome .. failed_lines(keys, id, attempt))
  count_results(result, 1)
  end_key(keys, id)
  if keys.outbox then keys.outbox.note(id, outcome, result, chain) end
  if size > 0 then
    recorded.freed = recorded.freed + size
    count_held(caller, -1, -size)
  end
end

-- The same for jobs that were delivered, once, before others. `outcomes`: the record of each; `freed`: their bytes. Of
-- their callers the script counts.
local function record_delivered(keys, jobs, outcomes, freed)
  if recorded.rare == false and not keys.outbox then
    -- Then nothing else is kept of any job. Mostly all records are the same.
    local texts, ids, bytes, outcome, text = recorded.outcomes, recorded.ids, 0, nil, nil
    for i = 1, #jobs do
      if outcomes[i] ~= outcome then
        outcome = outcomes[i]
        text = recorded.ms .. outcome
      end
      local id = job_id(jobs[i])
      texts[2 * i - 1], texts[2 * i], ids[i] = id, text, id
      bytes = bytes + #text
    end
    recorded.jobs, recorded.bytes = #jobs, bytes
    count_results('delivered', #jobs)
  else
    for i = 1, #jobs do record(keys, job_id(jobs[i]), outcomes[i], 'delivered', 0) end
  end
  recorded.freed = recorded.freed + freed
end

-- The record of a job that ends without its upstream. `caller` and `reason` may be nil.
local function outcome_of(result, reason, attempts, caller)
  return cjson.encode({ result = result, reason = reason, attempts = attempts, caller = caller })
end

-- `deliveries`: to replicas that died with the job, each of which may have called; `throttled`: whether a call was,
-- which counts as no attempt and yet was made.
local function record_expired(keys, id, deliveries, throttled, size, caller, chain)
  local attempts, reason = 0, 'not started before its deadline'
  if deliveries > 0 then
    attempts, reason = deliveries, 'its deadline passed after a replica had died with it'
  elseif throttled then
    attempts, reason = 1, 'its deadline passed while its upstream throttled it'
  end
  record(keys, id, outcome_of('expired', reason, attempts, caller), 'expired', size, caller, nil, chain)
end

-- The record of what somebody else has added, too large to be handed out. It isn't kept: that would take as long.
local function record_too_large(keys, id, bytes)
  local reason = 'its ' .. whole(bytes) .. ' bytes are too many to be handed out, and were not kept'
  record(keys, id, outcome_of('dead', reason, 0, nil), 'dead', 0, nil)
end

-- Most jobs are delivered: the other results are read where there are any.
local function read_tally(keys)
  return redis.call('HMGET', keys.tally, 'bytes', 'outcomes_bytes', 'delivered')
end

-- To be called once, when all jobs that leave in this script are recorded: writes their outcomes, what the bucket and
-- their callers get back, and the measured leak, and forgets old outcomes for them.
local function record_exits(keys)
  local jobs = recorded.jobs
  if jobs == 0 then return end
  local added = redis.call('HSET', keys.outcomes, unpack(recorded.outcomes))
  local count = recorded.before and recorded.before + added or redis.call('HLEN', keys.outcomes)
  -- Ids in one member of the zset: together they take as much room as one of them alone.
  local LISTED_TOGETHER = 100
  for first = 1, jobs, LISTED_TOGETHER do
    local last = math.min(jobs, first + LISTED_TOGETHER - 1)
    redis.call('ZADD', keys.ended, whole(now_ms), table.concat(recorded.ids, ' ', first, last))
  end
  write_holders(keys.holders)
  if rates.texts.leak == nil then rates.look(keys.meter, 'settled', 'leak') end
  rates.count(keys.meter, 'settled', jobs)
  rates.count(keys.meter, 'leak', jobs)
  rates.flush(keys.meter)
  if keys.outbox then keys.outbox.write(keys) end
  publish_ends(keys.notices)
  local tally = recorded.tally or read_tally(keys)
  -- Where these are all, somebody may have deleted by hand what was counted.
  local kept_bytes = count > jobs and tonumber(tally[2] or 0) or 0
  local bytes, outcomes_bytes = tonumber(tally[1] or 0), kept_bytes + recorded.bytes
  local _, forgotten = forget_outcomes(keys, jobs, count, outcomes_bytes, recorded.any_old)
  -- Of a job that Redis lost, nothing was counted any more.
  local words = {
    'bytes', whole(math.max(0, bytes - recorded.freed)),
    'outcomes_bytes', whole(math.max(0, outcomes_bytes - forgotten)), nil, nil, nil, nil,
  }
  for result, more in pairs(recorded.results) do
    local before = tally[3]
    if result ~= 'delivered' then before = redis.call('HGET', keys.tally, result) end
    words[#words + 1], words[#words + 2] = result, whole(tonumber(before or 0) + more)
  end
  redis.call('HSET', keys.tally, unpack(words))
end

-- Raises the error of a key that holds another type before anything is written: scripts don't roll back. What it reads
-- needn't be read again. Keys that few buckets have are looked for by one command.
local function check_types(keys)
  recorded.tally = read_tally(keys)
  rates.look(keys.meter, 'settled', 'leak', 'call')
  recorded.before = redis.call('HLEN', keys.outcomes)
  recorded.any_old = redis.call('ZCOUNT', keys.ended, '-inf', whole(keep_of_outcomes(keys).before)) > 0
  if keys.holders then redis.call('HLEN', keys.holders) end
  if keys.outbox then keys.outbox.check() end
  recorded.rare = redis.call('EXISTS', keys.keyed_jobs, keys.key_ends, keys.notices, held_keys()) > 0
  if recorded.rare then
    redis.call('HLEN', keys.keyed_jobs)
    redis.call('ZCARD', keys.key_ends)
  else
    has_keys = false
  end
  check_held(recorded.rare)
end
