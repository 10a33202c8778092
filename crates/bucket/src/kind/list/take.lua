-- List kind: hands out jobs from the tail of the list, where the oldest is, to the head of the replica's list.
-- needs: constants, now, budget, record, record_each, kind/entry, kind/held, kind/jobs

-- A list has no limits per caller.
local function bounds_by()
  return nil
end

-- Records the jobs that have ended.
local function record_ends(keys)
  record_exits(keys)
end

-- A list has no such keys.
local waiting_keys = {}

local function count_in_flight(jobs)
  local _, held = count_jobs(jobs)
  return held
end

local function answer_with(answer, taken)
  for _, job in ipairs(taken) do answer[#answer + 1], answer[#answer + 2] = job[1], job[2] end
end

-- Whether no job waits any more.
local function were_all(jobs)
  return redis.call('EXISTS', jobs) == 0
end

-- Returns up to `want` jobs { id, element }…, how many expired and how many died, µs until the next take, and whether a
-- new element would be taken at once. Ends early if enough was read, or ended.
local function hand_out(keys, consumer, want)
  local taken, expired, died, held, has_checked = {}, 0, 0, redis.call('LLEN', TAKEN), false

  -- Called before the first job ends. The element is back in its place meanwhile, as a key of another type raises an
  -- error.
  local function check_once(element)
    if has_checked then return end
    has_checked = true
    redis.call('RPUSH', keys.jobs, element)
    check_types(keys)
    redis.call('RPOP', keys.jobs)
  end

  local wait, is_empty = 0, false
  while #taken < want and expired < BATCH_JOBS and may_read() do
    -- Not LMOVE: at maxmemory a script may continue after RPOP, which needs no memory.
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
