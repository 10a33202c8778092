-- Records the outcomes of delivered jobs; record_each.lua those of others. Hash outcomes, job id → 'ms record'; zset
-- ended, ids of jobs by ms (order.lua). Both are bounded by age, number and bytes, which the tally counts.
-- needs: now, counts, keep_outcomes, notices, kind/held

-- What record_exits writes, and the results of check_types, nil if it wasn't called: `before`, number of outcomes;
-- `any_old`, whether any is too old; `rare`, whether any of the keys exists that few buckets have; `notices`, number of
-- notices. `size`: the length of all texts, if it is the same.
local recorded = {
  outcomes = {}, ids = {}, results = { delivered = nil }, jobs = 0, bytes = 0, freed = 0, ms = whole(now_ms) .. ' ',
  before = nil, any_old = nil, rare = nil, notices = nil, tally = nil, size = nil,
}

-- Publishes the ends of jobs for which callers wait.
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

-- Notes delivered jobs without failed attempts, idempotency keys and outcome jobs. To be called once, after they have
-- left the bucket, and before other jobs are recorded; record_exits writes them. `outcomes`: the record of each, or one
-- for all; `freed`: their bytes. The script itself counts for their callers.
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

-- The totals of other results are read when needed, as most jobs are delivered.
local function read_tally(keys)
  return redis.call('HMGET', keys.tally, 'bytes', 'outcomes_bytes', 'delivered')
end

-- The jobs from index `first` to `last` as a member of the zset `ended` (order.lua).
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

-- To be called once, after all jobs that leave in this script were recorded. Writes their outcomes, subtracts them from
-- the counts of the bucket and of their callers, measures the leak, and deletes old outcomes.
local function record_exits(keys)
  local jobs = recorded.jobs
  if jobs == 0 then return end
  local added = redis.call('HSET', keys.outcomes, unpack(recorded.outcomes))
  local count = recorded.before and recorded.before + added or redis.call('HLEN', keys.outcomes)
  -- If there are no others, somebody may have deleted them by hand, so their list is deleted, too.
  local are_all = count <= jobs
  if are_all then redis.call('DEL', keys.ended) end
  -- The maximum of ids in one member of the zset: together they take as much memory as one member each.
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
  -- At least 0, as Redis may have lost the count of a job.
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

-- Raises an error before the first write if a key has another type, because scripts don't roll back. Stores what it
-- reads. Checks the keys that few buckets have by one command. `is_held`: false for jobs that aren't in flight.
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
