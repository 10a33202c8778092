-- Records the outcomes of jobs one by one: of jobs that weren't delivered, or with failed attempts, idempotency keys or
-- outcome jobs.
-- needs: now, counts, keep, keep_keys, record, kind/held, kind/put_back

local keep_failed, failed_lines
do
  -- Appends a failed attempt to a job's records, and keeps the latest ones.
  local function with_failed(keep, before, attempt)
    local lines = {}
    for line in string.gmatch(before or '', '[^\n]+') do lines[#lines + 1] = line end
    lines[#lines + 1] = attempt
    return table.concat(lines, '\n', math.max(1, #lines - keep.failed + 1))
  end

  -- Adds a failed attempt of a job that stays in the bucket.
  function keep_failed(keys, id, attempt)
    write_failed(id, with_failed(keep_of(keys), failed_of(id), attempt), keep_of(keys).most_failed)
  end

  -- Returns the lines that follow the record: the job's failed attempts, including the one that ended it. They are
  -- deleted from FAILED, and later together with the record.
  function failed_lines(keys, id, attempt)
    local failed = failed_of(id)
    if failed then forget_failed(id) end
    if attempt then failed = with_failed(keep_of(keys), failed, attempt) end
    return failed and '\n' .. failed or ''
  end
end

-- `text`: the record and its failed attempts.
local function note_outcome(id, text)
  local jobs = recorded.jobs + 1
  recorded.outcomes[2 * jobs - 1], recorded.outcomes[2 * jobs], recorded.ids[jobs] = id, text, id
  recorded.jobs, recorded.bytes, recorded.size = jobs, recorded.bytes + #text, nil
end

local function count_results(result, jobs)
  recorded.results[result] = (recorded.results[result] or 0) + jobs
end

-- Records a job. To be called after it has left the bucket; record_exits writes it. `caller`, `attempt`: the failed one
-- that ended the job, and `chain`: the field of its entry, may be nil.
local function record(keys, id, outcome, result, size, caller, attempt, chain)
  note_outcome(id, recorded.ms .. outcome .. failed_lines(keys, id, attempt))
  count_results(result, 1)
  if recorded.rare ~= false then end_key(keys, id) end
  if keys.outbox then keys.outbox.note(id, outcome, result, chain) end
  if size > 0 then
    recorded.freed = recorded.freed + size
    count_held(caller, -1, -size)
  end
end

-- The same for jobs that were delivered. `outcomes`, `freed` as for record_delivered.
local function record_each_delivered(keys, jobs, outcomes, freed)
  for i = 1, #jobs do record(keys, job_id(jobs[i]), outcomes[i] or outcomes[1], 'delivered', 0) end
  recorded.freed = recorded.freed + freed
end

-- The record of a job that ends without an answer of its upstream. `caller` and `reason` may be nil.
local function outcome_of(result, reason, attempts, caller)
  return cjson.encode({ result = result, reason = reason, attempts = attempts, caller = caller })
end

-- `deliveries`: to replicas that died with the job, each of which may have called; `throttled`: whether a call was
-- throttled, which doesn't count as an attempt.
local function record_expired(keys, id, deliveries, throttled, size, caller, chain)
  local attempts, reason = 0, 'not started before its deadline'
  if deliveries > 0 then
    attempts, reason = deliveries, 'its deadline passed after a replica had died with it'
  elseif throttled then
    attempts, reason = 1, 'its deadline passed while its upstream throttled it'
  end
  record(keys, id, outcome_of('expired', reason, attempts, caller), 'expired', size, caller, nil, chain)
end

-- Records an entry that was added by hand and is too large to be handed out. It has no dead letter, as writing that
-- would take as long.
local function record_too_large(keys, id, bytes)
  local reason = 'its ' .. whole(bytes) .. ' bytes are too many to be handed out, and were not kept'
  record(keys, id, outcome_of('dead', reason, 0, nil), 'dead', 0, nil)
end
