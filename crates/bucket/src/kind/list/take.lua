-- List kind: from the tail of the jobs, where the oldest is, to the head of the replica's own list.
-- needs: constants, now, budget, record, record_each, kind/entry, kind/held, kind/jobs

-- Nobody is throttled alone.
local function bounds_by()
  return nil
end

-- Records the jobs that have ended.
local function record_ends(keys)
  record_exits(keys)
end

-- What is there only while some jobs wait for something: nothing.
local waiting_keys = {}

local function count_in_flight(jobs)
  local _, held = count_jobs(jobs)
  return held
end

local function answer_with(answer, taken)
  for _, job in ipairs(taken) do answer[#answer + 1], answer[#answer + 2] = job[1], job[2] end
end

-- Whether none waits any more.
local function were_all(jobs)
  return redis.call('EXISTS', jobs) == 0
end

-- Up to `want` jobs { id, element }…, how many expired on the way and how many died, µs until it is worth asking again,
-- and whether a new element would be taken at once. A call ends early when it has read enough, or put enough aside.
local function hand_out(keys, consumer, want)
  local taken, expired, died, held, has_checked = {}, 0, 0, redis.call('LLEN', TAKEN), false

  -- Before the first is written about: what is of another type is found with the element in its place.
  local function check_once(element)
    if has_checked then return end
    has_checked = true
    redis.call('RPUSH', keys.jobs, element)
    check_types(keys)
    redis.call('RPOP', keys.jobs)
  end

  local wait, is_empty = 0, false
  while #taken < want and expired < BATCH_JOBS and may_read() do
    -- As LMOVE would, but first what needs no memory: at maxmemory a script may go on after that.
    local element = redis.call('RPOP', keys.jobs)
    if not element then
      wait, is_empty = math.huge, true
      break
    end
    local size, head = count_read(element), read_head(element)
    local too_large = not head and size > LARGEST_FOREIGN
    local is_over = head and head.expires and head.expires <= now_ms
    if not head or is_over then check_once(element) end
    if not head and not too_large then head, element = adopt(keys.tally, element) end
    if too_large then
      record_too_large(keys, next_id(keys.tally), size)
      died = died + 1
    elseif is_over then
      local entry = entry_of(nil, element)
      record_expired(keys, head.id, head.deliveries, head.throttled, counted_bytes(entry), caller_of(entry))
      expired = expired + 1
    else
      held = redis.call('LPUSH', TAKEN, element)
      taken[#taken + 1] = { head.id, element }
    end
  end
  if #taken > 0 then redis.call('HSET', TAKERS, consumer, held) end
  return taken, expired, died, wait, is_empty
end
