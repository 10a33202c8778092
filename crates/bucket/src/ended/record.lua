-- How jobs end: what is recorded of each, and burying one as a dead letter. Hash outcomes, job id → 'ms record'; zset
-- ended, ids of jobs by ms (order.lua); both bounded by time, number and bytes, which the tally counts.
-- needs: now, counts, keep, notices, kind/entry, kind/held

-- What is to be written (record_exits), and what check_types saw, nil where it didn't look: `before`, how many outcomes
-- there were; `oldest`, of those; `rare`, whether any of the keys is there that few buckets have.
local recorded = { outcomes = {}, ids = {}, results = {}, jobs = 0, bytes = 0, freed = 0, ms = whole(now_ms) .. ' ' }

-- Those who wait for the end of a job are notified of it by a message, which is published only where somebody waits.
local note_end, publish_ends
do
  local ended_now = {}

  function note_end(id)
    ended_now[#ended_now + 1] = id
  end

  -- To be called last.
  function publish_ends(notices)
    local MOST = 1000
    if #ended_now > 0 and recorded.rare ~= false and redis.call('EXISTS', notices) == 1 then
      for from = 1, #ended_now, MOST do
        local ids, waited = { unpack(ended_now, from, math.min(#ended_now, from + MOST - 1)) }, {}
        for i, until_ms in ipairs(redis.call('ZMSCORE', notices, unpack(ids))) do
          if until_ms then waited[#waited + 1] = ids[i] end
        end
        if #waited > 0 then
          redis.call('ZREM', notices, unpack(waited))
          publish(notices, 'ended ' .. table.concat(waited, ' '))
        end
      end
    end
    ended_now = {}
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
    write_failed(id, with_failed(keys.keep, failed_of(id), attempt), keys.keep.most_failed)
  end

  -- Behind a record: what was kept of the job's failed attempts, and the last one, where it ended the job. It is
  -- forgotten with the record.
  function failed_lines(keys, id, attempt)
    local failed = failed_of(id)
    if failed then forget_failed(id) end
    if attempt then failed = with_failed(keys.keep, failed, attempt) end
    return failed and '\n' .. failed or ''
  end
end

-- Call it after the job has left the bucket, which gets back its bytes and its caller's place; `record_exits` writes
-- it. `caller`, `attempt`, the failed one that ended the job, and `chain`, as its entry has it, may be nil.
local function record(keys, id, outcome, result, size, caller, attempt, chain)
  local text, n = recorded.ms .. outcome .. failed_lines(keys, id, attempt), 2 * recorded.jobs
  recorded.outcomes[n + 1], recorded.outcomes[n + 2] = id, text
  recorded.ids[recorded.jobs + 1] = id
  recorded.results[result] = (recorded.results[result] or 0) + 1
  recorded.jobs, recorded.bytes = recorded.jobs + 1, recorded.bytes + #text
  note_end(id)
  end_key(keys, id)
  if keys.outbox then keys.outbox.note(id, outcome, result, chain) end
  if size > 0 then
    recorded.freed = recorded.freed + size
    count_held(caller, -1, -size)
  end
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

-- To be called once, when all jobs that leave in this script are recorded: writes their outcomes, what the bucket and
-- their callers get back, and the measured leak, and forgets old outcomes for them.
local function record_exits(keys)
  local RESULTS = { 'delivered', 'dead', 'expired', 'cancelled' }
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
  local tally = redis.call('HMGET', keys.tally, 'bytes', 'outcomes_bytes', unpack(RESULTS))
  local bytes, outcomes_bytes = tonumber(tally[1] or 0), tonumber(tally[2] or 0) + recorded.bytes
  local _, forgotten = forget_outcomes(keys, jobs, count, outcomes_bytes, recorded.oldest)
  -- Of a job that Redis lost, nothing was counted any more.
  local words = {
    'bytes', whole(math.max(0, bytes - recorded.freed)),
    'outcomes_bytes', whole(math.max(0, outcomes_bytes - forgotten)),
  }
  for i, result in ipairs(RESULTS) do
    local more = recorded.results[result]
    if more then
      words[#words + 1], words[#words + 2] = result, whole(tonumber(tally[i + 2] or 0) + more)
    end
  end
  redis.call('HSET', keys.tally, unpack(words))
end

-- Burying a job: out of the bucket, whole into the stream of dead letters, with the reason; the oldest letters make
-- room.

-- Reads all that burying takes and writes nothing, so that what fails here has changed nothing. `attempt`: the failed
-- one, '' or nil where the job dies of none.
local function letter_of(job, entry, outcome, reason, attempt)
  -- A foreign entry may have any number of fields: the letter has the first of them.
  local MOST_FIELDS = 100
  local id = job_id(job)
  local fields, own = { 'job', id, 'reason', reason, 'outcome', outcome }, letter_fields(entry)
  for i = 1, math.min(#own, 2 * MOST_FIELDS) do fields[#fields + 1] = own[i] end
  return {
    job = job, id = id, outcome = outcome, fields = fields, bytes = letter_bytes(fields),
    is_whole = #entry > 0, counted = counted_bytes(entry), caller = caller_of(entry), chain = field(entry, 'chain'),
    attempt = attempt ~= '' and attempt or nil,
  }
end

local function bury(keys, letter)
  withdraw(keys, { letter.job })
  -- Of a job that somebody deleted by hand nothing is left but how it ended.
  if letter.is_whole then
    drop_letters(keys, 1, letter.bytes)
    local buried = redis.call('XADD', keys.dead, '*', unpack(letter.fields))
    index_letter(keys, buried, letter.bytes, letter.id)
    count_bytes(keys, 'dead_bytes', letter.bytes)
  end
  record(keys, letter.id, letter.outcome, 'dead', letter.counted, letter.caller, letter.attempt, letter.chain)
end

-- Where nothing may be buried now, the job stays in the bucket, parked with its record, until that can be done. Whether
-- it has left.
local function bury_or_keep(keys, letter)
  if dead_is_full(keys) then
    local is_there = keep_unburied(keys, letter.job, letter.outcome)
    if is_there and letter.attempt then keep_failed(keys, letter.id, letter.attempt) end
    return false
  end
  bury(keys, letter)
  return true
end

-- Both raise the error of a key that holds another type before anything is written: scripts don't roll back.
local function check_letters(keys)
  redis.call('XLEN', keys.dead)
  redis.call('HLEN', keys.letters)
  redis.call('ZCARD', keys.sizes)
end

-- What it reads needn't be read again. Keys that few buckets have are looked for by one command.
local function check_types(keys)
  redis.call('HLEN', keys.tally)
  rates.look(keys.meter, 'settled', 'leak', 'call')
  recorded.before = redis.call('HLEN', keys.outcomes)
  recorded.oldest = redis.call('ZRANGE', keys.ended, 0, 0, 'WITHSCORES')
  redis.call('HLEN', keys.holders)
  if keys.outbox then keys.outbox.check() end
  recorded.rare = redis.call('EXISTS', keys.keyed_jobs, keys.key_ends, keys.notices, unpack(held_keys())) > 0
  if recorded.rare then
    redis.call('HLEN', keys.keyed_jobs)
    redis.call('ZCARD', keys.key_ends)
  else
    has_keys = false
  end
  check_held(recorded.rare)
end
