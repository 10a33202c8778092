-- Stream kind: the pending list of the group, and ids of the stream.
-- needs: constants, behind

-- The consumer for which a job is pending, or nil.
local function owner_of(jobs, id)
  local pending = redis.pcall('XPENDING', jobs, GROUP, id, id, 1)
  return not pending.err and pending[1] and pending[1][2] or nil
end

-- Up to `most` pending jobs of all consumers, or of one, in the order of their ids: { id, consumer, … }….
local function pending_jobs(jobs, from, to, most, consumer)
  local pending
  if consumer then
    pending = redis.pcall('XPENDING', jobs, GROUP, from, to, most, consumer)
  else
    pending = redis.pcall('XPENDING', jobs, GROUP, from, to, most)
  end
  -- An error means that there is no stream or no group, so nothing is pending.
  return pending.err and {} or pending
end

-- The number of jobs in flight.
local function count_with_replicas(jobs)
  local pending, parked = redis.pcall('XPENDING', jobs, GROUP), 0
  if pending.err then return 0 end
  for _, consumer in ipairs(pending[4] or {}) do
    if consumer[1] == PARKED_OWNER then parked = tonumber(consumer[2]) end
  end
  return pending[1] - parked
end

-- The group's last-delivered id, after which jobs aren't sorted into flows yet; nil without a group.
local function last_delivered(jobs)
  local groups = redis.pcall('XINFO', 'GROUPS', jobs)
  for _, group in ipairs(groups.err and {} or groups) do
    local info = {}
    for i = 1, #group, 2 do info[group[i]] = group[i + 1] end
    if info.name == GROUP then return info['last-delivered-id'] end
  end
  return nil
end

-- The first entry of a range; nil without one.
local function first_entry(jobs, from, to)
  return entries_between(jobs, from, to, 1)[1]
end

-- Whether `id` is later than `other`.
local function is_after(id, other)
  local ms, seq = string.match(id, '^(%d+)%-(%d+)$')
  local other_ms, other_seq = string.match(other, '^(%d+)%-(%d+)$')
  if ms ~= other_ms then return tonumber(ms) > tonumber(other_ms) end
  return tonumber(seq) > tonumber(other_seq)
end
