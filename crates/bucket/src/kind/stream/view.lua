-- Stream kind: what a job looks like from outside, and what is known of it without its body.

-- Where a job that is in the stream is: { id, state, failed attempts, due in ms or '', caller, consumer or '' }.
-- `owner` is the consumer that has it pending; nil: it was delivered to nobody yet.
local function classify(keys, id, entry, owner)
  local due = redis.call('ZSCORE', keys.parked, id)
  local state = due and 'parked' or owner and 'in_flight' or 'waiting'
  local failures = owner and redis.call('HGET', keys.attempts, id) or 0
  local due_ms = due or (state == 'waiting' and field(entry, 'due')) or ''
  return { id, state, tonumber(failures or 0), due_ms, caller_of(entry) or '', state == 'in_flight' and owner or '' }
end

-- The consumer that has a job pending, or nil.
local function owner_of(jobs, id)
  local pending = redis.pcall('XPENDING', jobs, 'processors', id, id, 1)
  return not pending.err and pending[1] and pending[1][2] or nil
end

-- Up to `most` pending jobs of all consumers, or of one, in the order of their ids: { id, consumer, … }….
local function pending_jobs(jobs, from, to, most, consumer)
  local pending
  if consumer then
    pending = redis.pcall('XPENDING', jobs, 'processors', from, to, most, consumer)
  else
    pending = redis.pcall('XPENDING', jobs, 'processors', from, to, most)
  end
  -- No stream, no group: nothing is pending.
  return pending.err and {} or pending
end

-- What waits comes after the last id that was delivered; nil without a group.
local function last_delivered(jobs)
  local groups = redis.pcall('XINFO', 'GROUPS', jobs)
  for _, group in ipairs(groups.err and {} or groups) do
    local info = {}
    for i = 1, #group, 2 do info[group[i]] = group[i + 1] end
    if info.name == 'processors' then return info['last-delivered-id'] end
  end
  return nil
end

-- Whether one id is of a later entry than another.
local function is_after(id, other)
  local ms, seq = string.match(id, '^(%d+)%-(%d+)$')
  local other_ms, other_seq = string.match(other, '^(%d+)%-(%d+)$')
  if ms ~= other_ms then return tonumber(ms) > tonumber(other_ms) end
  return tonumber(seq) > tonumber(other_seq)
end
