-- Stream kind: parked jobs that are due first, then new ones. One whose time has not come is parked on the way.
local PARKED, ATTEMPTS = KEYS[#KEYS - 1], KEYS[#KEYS]

local function count_in_flight(jobs)
  make_group(jobs)
  return redis.call('XPENDING', jobs, 'processors')[1] - redis.call('ZCARD', PARKED)
end

-- µs until a parked job is due, and the stream's last id: a new entry is taken at once.
local function next_job(jobs)
  local first = redis.call('ZRANGE', PARKED, 0, 0, 'WITHSCORES')
  local wait = first[2] and math.max(0, first[2] * 1000 - now_us) or math.huge
  local info = redis.call('XINFO', 'STREAM', jobs)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then return wait, info[i + 1] end
  end
end

-- Up to `want` jobs { id, fields, failed attempts }…, how many expired on the way; where there is none, µs until it is worth
-- asking again, and the last id when nothing but a new entry is wanting.
local function hand_out(keys, consumer, want)
  local taken, expired = {}, 0

  local function give(id, entry, failures)
    local deadline = tonumber(field(entry, 'expires'))
    if deadline and deadline <= now_ms and failures == 0 then
      redis.call('XACK', keys.jobs, 'processors', id)
      redis.call('XDEL', keys.jobs, id)
      record_expired(keys, id, counted_bytes(entry), caller_of(entry))
      expired = expired + 1
    else
      taken[#taken + 1] = { id, entry, failures }
    end
  end

  local due = redis.call('ZRANGE', PARKED, '-inf', whole(now_ms), 'BYSCORE', 'LIMIT', 0, want)
  if #due > 0 then
    local failures = redis.call('HMGET', ATTEMPTS, unpack(due))
    redis.call('ZREM', PARKED, unpack(due))
    for i, id in ipairs(due) do
      local claimed = redis.call('XCLAIM', keys.jobs, 'processors', consumer, 0, id)[1]
      if claimed and claimed[2] then
        give(claimed[1], claimed[2], tonumber(failures[i] or 0))
      else
        -- Deleted by hand, or unknown to a group that was made anew: in both cases nothing is pending.
        redis.call('XACK', keys.jobs, 'processors', id)
      end
    end
  end

  local drained = false
  local rounds = 0
  while #taken < want and not drained and rounds < 16 do
    rounds = rounds + 1
    local count = want - #taken
    local got = redis.call('XREADGROUP', 'GROUP', 'processors', consumer, 'COUNT', count, 'STREAMS', keys.jobs, '>')
    local entries = got and got[1][2] or {}
    drained = #entries < count
    for _, found in ipairs(entries) do
      local id, entry = found[1], found[2]
      local due_ms = tonumber(field(entry, 'due'))
      local deadline = tonumber(field(entry, 'expires'))
      if due_ms and due_ms > now_ms and not (deadline and deadline <= now_ms) then
        redis.call('XCLAIM', keys.jobs, 'processors', '@parked', 0, id, 'RETRYCOUNT', 0, 'JUSTID')
        redis.call('ZADD', PARKED, whole(due_ms), id)
      else
        give(id, entry, 0)
      end
    end
  end
  if #taken > 0 or not drained then return taken, expired, 0 end
  return taken, expired, next_job(keys.jobs)
end
