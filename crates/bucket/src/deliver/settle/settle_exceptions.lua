-- Functions to settle with dead letters, a throttle, an adaptive rate, limits per caller, or jobs that Redis has lost.
-- needs: bury, counts, throttle, adapt, kind/entry, kind/leave_flows

-- Whether another replica has ended the job, because Redis had lost the claim of this one. Its outcome stays.
local function has_outcome(keys, job)
  return redis.call('HEXISTS', keys.outcomes, job_id(job)) == 1
end

local function read_letter(keys, job, outcome, reason, attempt)
  check_letters(keys)
  local letter = letter_of(job, entry_of(keys.jobs, job), outcome, reason, attempt)
  letter.has_ended = has_outcome(keys, job)
  return letter
end

-- Of the completed jobs and their records, those of jobs that had not ended before; and the ids of the others.
-- `absent`: the places of the jobs that don't exist.
local function not_ended_before(keys, jobs, outcomes, absent)
  local is_over, seen, others, records, over = {}, {}, {}, {}, {}
  for _, at in ipairs(absent) do is_over[at] = has_outcome(keys, jobs[at]) end
  for i, job in ipairs(jobs) do
    -- A replica that has lost its claim may have claimed the job a second time.
    if is_over[i] or seen[job] then
      over[#over + 1] = job_id(job)
    else
      others[#others + 1], records[#records + 1] = job, outcomes[i] or outcomes[1]
    end
    seen[job] = true
  end
  return others, records, over
end

-- Nothing is counted any more for completed jobs that don't exist, so their bytes and places must not be subtracted.
-- `absent`: their places among the completed jobs; `sizes`: the bytes of each completed job; `first`, `last`: where
-- the callers are in ARGV. Returns the bytes of the absent jobs.
local function keep_absent(absent, sizes, first, last)
  local OF_CALLER = 3
  local bytes_of, caller_of_job, bytes = {}, {}, 0
  for size in string.gmatch(sizes, '%d+') do bytes_of[#bytes_of + 1] = tonumber(size) end
  local place = #bytes_of
  for i = last - OF_CALLER + 1, first, -OF_CALLER do
    for _ = 1, tonumber(ARGV[i + 1]) do
      caller_of_job[place], place = ARGV[i], place - 1
    end
  end
  for _, at in ipairs(absent) do
    bytes = bytes + bytes_of[at]
    count_held(caller_of_job[at], 1, bytes_of[at])
  end
  return bytes
end

return {
  keep_absent = keep_absent, not_ended_before = not_ended_before,
  read_letter = read_letter, add_letter = add_letter, bury_or_keep = bury_or_keep,
  throttle = throttle, adapt = adapt, leave_flows = leave_flows,
}
