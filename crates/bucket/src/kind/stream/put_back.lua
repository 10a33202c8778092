-- Stream kind: claimed jobs that stay in the bucket, and their failed attempts.
-- needs: constants, now, notices, kind/held

-- Claims jobs for PARKED_OWNER, and returns the ids of those that exist. Redis 6.2 also claims pending jobs that were
-- deleted; so there they are acknowledged first, and claimed with FORCE, which claims only existing ones.
local function claim_parked(keys, ids, deliveries)
  local words = { 'XCLAIM', keys.jobs, GROUP, PARKED_OWNER, '0', unpack(ids) }
  for _, word in ipairs({ 'RETRYCOUNT', deliveries, 'JUSTID' }) do words[#words + 1] = word end
  if not redis.REDIS_VERSION_NUM then
    redis.call('XACK', keys.jobs, GROUP, unpack(ids))
    words[#words + 1] = 'FORCE'
  end
  return redis.call(unpack(words))
end

-- Parks a job for `wait` ms. Returns false if somebody deleted it by hand, and removes it from the pending list then.
local function park(keys, id, wait, deliveries)
  if #claim_parked(keys, { id }, deliveries) == 0 then
    redis.call('XACK', keys.jobs, GROUP, id)
    return false
  end
  redis.call('ZADD', PARKED, whole(now_ms + wait), id)
  return true
end

-- Parks jobs after their attempts, by a few commands for all. Of each job: `name`, its id; `wait` in ms; `counts`: 1
-- for a failed attempt, 0 for a throttled one, nil if the call wasn't made. Sets `is_there`: whether the job exists.
local function put_back(keys, jobs)
  local names, is_parked = {}, {}
  for i, job in ipairs(jobs) do names[i] = job.name end
  for _, id in ipairs(claim_parked(keys, names, '0')) do is_parked[id] = true end
  local due, counted, gone, is_due = {}, {}, {}, false
  for _, job in ipairs(jobs) do
    local id = job.name
    job.is_there = is_parked[id]
    if not job.is_there then
      gone[#gone + 1] = id
    else
      due[#due + 1], due[#due + 2] = whole(now_ms + job.wait), id
      is_due = is_due or job.wait == 0
      if job.counts then counted[#counted + 1] = job end
    end
  end
  if #gone > 0 then redis.call('XACK', keys.jobs, GROUP, unpack(gone)) end
  if #due > 0 then redis.call('ZADD', PARKED, unpack(due)) end
  if is_due then publish_jobs(keys.notices) end
  if #counted == 0 then return end
  local ids, attempts = {}, {}
  for i, job in ipairs(counted) do ids[i] = job.name end
  for i, before in ipairs(redis.call('HMGET', ATTEMPTS, unpack(ids))) do
    attempts[2 * i - 1], attempts[2 * i] = ids[i], whole((tonumber(before or nil) or 0) + counted[i].counts)
  end
  redis.call('HSET', ATTEMPTS, unpack(attempts))
end

-- The records of a job's failed attempts, in lines; false without any.
local function failed_of(id)
  if has_kept.failed == nil then has_kept.failed = redis.call('HLEN', FAILED) > 0 end
  return has_kept.failed and redis.call('HGET', FAILED, id)
end

-- Writes the records of a job's failed attempts, unless `most` other jobs have some.
local function write_failed(id, lines, most)
  if redis.call('HLEN', FAILED) >= most and redis.call('HEXISTS', FAILED, id) == 0 then return end
  redis.call('HSET', FAILED, id, lines)
  has_kept.failed = true
end

local function forget_failed(id)
  redis.call('HDEL', FAILED, id)
end

-- Whether a dead job may stay in the bucket until its letter can be added.
local waits_for_letter = true

-- Parks a dead job with its record, so that it is never handed out again. Returns whether the job exists.
local function keep_unburied(keys, id, outcome)
  if not park(keys, id, 0, 0) then return false end
  redis.call('HSET', UNBURIED, id, outcome)
  return true
end
