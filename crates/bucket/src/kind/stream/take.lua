-- Stream kind: parked jobs that are due first, then new ones. One whose time has not come is parked on the way.
-- needs: constants, now, budget, keep, record, kind/entry, kind/held

local function count_in_flight(jobs)
  make_group(jobs)
  return redis.call('XPENDING', jobs, GROUP)[1] - redis.call('ZCARD', PARKED)
end

-- The names of an entry's fields, and the times that the admit script writes into it.
local BESIDE = 200

-- The most bytes that an entry can have; nil where that isn't known, as where somebody else has ever added one, or
-- deleted one, behind which an added one would not be seen.
local function largest_entry(keys)
  local counts = redis.call('HMGET', keys.tally, 'largest', 'accepted', 'delivered', 'dead', 'expired', 'cancelled')
  for i = 1, 6 do counts[i] = tonumber(counts[i] or nil) end
  local ours = (counts[2] or 0) - (counts[3] or 0) - (counts[4] or 0) - (counts[5] or 0) - (counts[6] or 0)
  if not counts[1] or redis.call('XLEN', keys.jobs) ~= ours then return nil end
  return counts[1] + BESIDE
end

-- µs until a parked job is due, and the last id that was delivered. Where all was delivered, a new entry has a later
-- one. (The stream's own last id costs reading its first and last entry whole.)
local function next_job(jobs)
  local first = redis.call('ZRANGE', PARKED, 0, 0, 'WITHSCORES')
  local wait = first[2] and math.max(0, first[2] * 1000 - now_us) or math.huge
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', jobs)) do
    local info = {}
    for i = 1, #group, 2 do info[group[i]] = group[i + 1] end
    if info.name == GROUP then return wait, info['last-delivered-id'] end
  end
end

-- Jobs that were to be buried while nothing could be (hash unburied, job id → its record) are parked and due. Buries
-- those among the jobs that are due, as far as there is room. The others, and how many have left the bucket.
local function bury_due(keys, due)
  if #due == 0 or redis.call('HLEN', UNBURIED) == 0 then return due, 0 end
  local records = redis.call('HMGET', UNBURIED, unpack(due))
  local others, buried = {}, 0
  for i, id in ipairs(due) do
    if not records[i] then
      others[#others + 1] = id
    elseif may_read() and not dead_is_full(keys) then
      local reason = cjson.decode(records[i]).reason
      local letter = letter_of(id, entry_of(keys.jobs, id), records[i], type(reason) == 'string' and reason or '')
      count_read(letter.fields)
      redis.call('ZREM', PARKED, id)
      bury(keys, letter)
      buried = buried + 1
    end
  end
  return others, buried
end

-- Up to `want` jobs { id, fields, failed attempts }…, how many expired on the way, and how many ended otherwise; with
-- none, µs until it is worth asking again, and the last id when nothing but a new entry is wanting. A call ends early
-- when it has read enough, or put enough aside: then it is worth asking again at once.
local function hand_out(keys, consumer, want)
  local taken, expired, parked, discarded = {}, 0, 0, 0
  local largest = largest_entry(keys)

  local function goes_on()
    return #taken < want and expired + parked + discarded < BATCH_JOBS and may_read()
  end

  -- How many entries one command may read; at least one.
  local function at_once()
    local room = largest and math.floor((BATCH_BYTES - bytes_read) / largest) or 1
    return math.max(1, math.min(room, want - #taken, BATCH_JOBS - expired - parked - discarded))
  end

  local function remove(id)
    redis.call('XACK', keys.jobs, GROUP, id)
    redis.call('XDEL', keys.jobs, id)
    redis.call('HDEL', ATTEMPTS, id)
  end

  local function expire(id, entry, throttled)
    -- This take counted as a delivery, though no replica saw the job.
    local deliveries = redis.call('XPENDING', keys.jobs, GROUP, id, id, 1)[1][4] - 1
    remove(id)
    record_expired(keys, id, deliveries, throttled, counted_bytes(entry), caller_of(entry))
    expired = expired + 1
  end

  -- `counted`: the job's failed attempts as they are counted; false for a job that no call has reported anything of.
  local function give(id, entry, counted)
    local size = count_read(entry)
    if size > LARGEST_FOREIGN and counted_bytes(entry) == 0 then
      remove(id)
      record_too_large(keys, id, size)
      discarded = discarded + 1
      return
    end
    local deadline, failures = tonumber(field(entry, 'expires')), tonumber(counted or 0)
    if deadline and deadline <= now_ms and failures == 0 then
      expire(id, entry, counted)
    else
      taken[#taken + 1] = { id, entry, failures }
    end
  end

  local function claim_due(due)
    local counted = redis.call('HMGET', ATTEMPTS, unpack(due))
    local first = 1
    while first <= #due and goes_on() do
      local last, entries = math.min(#due, first + at_once() - 1), {}
      for _, entry in ipairs(redis.call('XCLAIM', keys.jobs, GROUP, consumer, 0, unpack(due, first, last))) do
        if entry then entries[entry[1]] = entry[2] end
      end
      for i = first, last do
        local id = due[i]
        if entries[id] then
          give(id, entries[id], counted[i])
        else
          -- Deleted by hand, or unknown to a group that was made again: in both cases nothing is pending. What was
          -- counted of the one goes with it; the other is new again.
          redis.call('XACK', keys.jobs, GROUP, id)
          if counted[i] and not redis.call('XRANGE', keys.jobs, id, id)[1] then
            redis.call('HDEL', ATTEMPTS, id)
            forget_failed(id)
          end
        end
      end
      first = last + 1
    end
    redis.call('ZREM', PARKED, unpack(due, 1, first - 1))
  end

  repeat
    local most = want - #taken
    local due = redis.call('ZRANGE', PARKED, '-inf', whole(now_ms), 'BYSCORE', 'LIMIT', 0, most)
    local others, buried = bury_due(keys, due)
    discarded = discarded + buried
    if #others > 0 and goes_on() then claim_due(others) end
    -- What can't be buried now stays where it is.
  until #due < most or #others + buried < #due or not goes_on()

  local drained = false
  while goes_on() and not drained do
    local most = at_once()
    local got = redis.call('XREADGROUP', 'GROUP', GROUP, consumer, 'COUNT', most, 'STREAMS', keys.jobs, '>')
    local entries = got and got[1][2] or {}
    drained = #entries < most
    for _, found in ipairs(entries) do
      local id, entry = found[1], found[2]
      local due_ms, deadline = tonumber(field(entry, 'due')), tonumber(field(entry, 'expires'))
      if due_ms and due_ms > now_ms and not (deadline and deadline <= now_ms) then
        redis.call('XCLAIM', keys.jobs, GROUP, PARKED_OWNER, 0, id, 'RETRYCOUNT', 0, 'JUSTID')
        redis.call('ZADD', PARKED, whole(due_ms), id)
        count_read(entry)
        parked = parked + 1
      else
        give(id, entry, false)
      end
    end
  end
  if #taken > 0 or not drained then return taken, expired, discarded, 0 end
  return taken, expired, discarded, next_job(keys.jobs)
end
