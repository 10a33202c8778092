-- How jobs end: what is recorded of each, here of those that were delivered; of others, in record_each.lua. Hash
-- outcomes, job id → 'ms record'; zset ended, ids of jobs by ms (order.lua); both bounded by time, number and bytes,
-- which the tally counts.
-- needs: now, counts, keep_outcomes, notices, kind/held

-- What is to be written (record_exits), and what check_types saw, nil where it didn't look: `before`, how many outcomes
-- there were; `any_old`, whether any of them is too old; `rare`, whether any of the keys is there that few buckets
-- have; `notices`, how many of them there are. And `size`, that of all texts, where they have the same for sure.
local recorded = {
  outcomes = {}, ids = {}, results = { delivered = nil }, jobs = 0, bytes = 0, freed = 0, ms = whole(now_ms) .. ' ',
  before = nil, any_old = nil, rare = nil, notices = nil, tally = nil, size = nil,
}

-- Those who wait for the end of a job are notified of it by a message, which is published only where somebody waits.
local function publish_ends(notices)
  local MOST = 1000
  if recorded.rare == false or (recorded.notices or redis.call('EXISTS', notices)) == 0 then return end
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

-- Call it once, before others are recorded, after the jobs have left the bucket, of which nothing else is kept; it gets
-- back their bytes, `freed`, and record_exits writes it. `outcomes`: the record of each, or the one that all have. Of
-- their callers the script counts.
local function record_delivered(jobs, outcomes, freed)
  local ids, texts, bytes = job_ids(jobs), recorded.outcomes, 0
  local text, is_one = recorded.ms .. outcomes[1], #outcomes == 1
  for i = 1, #ids do
    if not is_one then text = recorded.ms .. outcomes[i] end
    texts[2 * i - 1], texts[2 * i] = ids[i], text
    bytes = bytes + #text
  end
  recorded.ids, recorded.size = ids, is_one and #text
  recorded.jobs, recorded.bytes, recorded.freed = #ids, bytes, recorded.freed + freed
  recorded.results.delivered = #ids
end

-- Most jobs are delivered: the other results are read where there are any.
local function read_tally(keys)
  return redis.call('HMGET', keys.tally, 'bytes', 'outcomes_bytes', 'delivered')
end

-- The jobs from the `first` to the `last` one as a member of the zset (order.lua).
local function listed(first, last)
  local ids, texts, of_all, words = recorded.ids, recorded.outcomes, recorded.size, {}
  while first <= last do
    local size, to = of_all or #texts[2 * first], of_all and last or first
    while to < last and #texts[2 * to + 2] == size do to = to + 1 end
    words[#words + 1], words[#words + 2] = word_of(size), table.concat(ids, ' ', first, to)
    first = to + 1
  end
  return table.concat(words, ' ')
end

-- To be called once, when all jobs that leave in this script are recorded: writes their outcomes, what the bucket and
-- their callers get back, and the measured leak, and forgets old outcomes for them.
local function record_exits(keys)
  local jobs = recorded.jobs
  if jobs == 0 then return end
  local added = redis.call('HSET', keys.outcomes, unpack(recorded.outcomes))
  local count = recorded.before and recorded.before + added or redis.call('HLEN', keys.outcomes)
  -- Where these are all, somebody may have deleted the others by hand: nothing that is listed is there.
  local are_all = count <= jobs
  if are_all then redis.call('DEL', keys.ended) end
  -- Ids in one member of the zset: together they take as much room as one of them alone.
  local LISTED_TOGETHER = 100
  for first = 1, jobs, LISTED_TOGETHER do
    redis.call('ZADD', keys.ended, whole(now_ms), listed(first, math.min(jobs, first + LISTED_TOGETHER - 1)))
  end
  write_holders(keys.holders)
  if rates.texts.leak == nil then rates.look(keys.meter, 'settled', 'leak') end
  rates.count(keys.meter, 'settled', jobs)
  rates.count(keys.meter, 'leak', jobs)
  rates.flush(keys.meter)
  if keys.outbox then keys.outbox.write(keys) end
  publish_ends(keys.notices)
  local tally = recorded.tally or read_tally(keys)
  local kept_bytes = are_all and 0 or tonumber(tally[2] or nil) or 0
  local bytes, outcomes_bytes = tonumber(tally[1] or nil) or 0, kept_bytes + recorded.bytes
  local _, forgotten = forget_outcomes(keys, jobs, count, outcomes_bytes, recorded.any_old)
  -- Of a job that Redis lost, nothing was counted any more.
  local words = {
    'bytes', whole(math.max(0, bytes - recorded.freed)),
    'outcomes_bytes', whole(math.max(0, outcomes_bytes - forgotten)), nil, nil, nil, nil,
  }
  for result, more in pairs(recorded.results) do
    local before = tally[3]
    if result ~= 'delivered' then before = redis.call('HGET', keys.tally, result) end
    words[#words + 1], words[#words + 2] = result, whole((tonumber(before or nil) or 0) + more)
  end
  redis.call('HSET', keys.tally, unpack(words))
end

-- Raises the error of a key that holds another type before anything is written: scripts don't roll back. What it reads
-- needn't be read again. Keys that few buckets have are looked for by one command. `is_held`: false of jobs that no
-- replica has.
local function check_types(keys, is_held)
  recorded.tally = read_tally(keys)
  rates.look(keys.meter, 'settled', 'leak', 'call')
  recorded.before = redis.call('HLEN', keys.outcomes)
  recorded.any_old = redis.call('ZCOUNT', keys.ended, '-inf', whole(keep_of_outcomes(keys).before)) > 0
  if keys.holders then redis.call('HLEN', keys.holders) end
  if keys.outbox then redis.call('XLEN', keys.outbox.key) end
  recorded.rare = redis.call('EXISTS', keys.keyed_jobs, keys.key_ends, keys.notices, held_keys()) > 0
  if recorded.rare then
    redis.call('HLEN', keys.keyed_jobs)
    redis.call('ZCARD', keys.key_ends)
    recorded.notices = redis.call('ZCARD', keys.notices)
  end
  if is_held ~= false then check_held(recorded.rare) end
end
