-- Stream kind: the state of a take, its limits, and the parked jobs that are due.
-- needs: constants, now, budget, kind/entry, kind/unread

-- Jobs to hand out: { id, fields, failed attempts or nil, when it became due or nil }…; the number of expired jobs, and
-- of those that were parked or ended otherwise.
local taken, expired, put_aside = {}, 0, 0
-- By index in `taken`: true if the job is known to be plain.
local known_plain = {}
-- The number of jobs that are chosen, but not claimed yet.
local chosen = 0
-- The number of jobs at the start of the script.
local level_at_first

-- Functions that few takes need (turns.lua), created when needed; and the number of jobs that died.
local rare = { died = 0 }
local function opened_rare()
  rare.opened = rare.opened or rare.open()
  return rare.opened
end

local function goes_on(want)
  local ended = expired + put_aside
  return #taken + chosen < want and ended < BATCH_JOBS and #taken + chosen + ended < outcome_room and may_read()
end

-- How many entries the next command may read; at least one.
local function at_once(keys, want)
  local largest = largest_entry(keys, level_at_first)
  local room = largest and math.floor((BATCH_BYTES - bytes_read) / largest) or 1
  local left = math.min(BATCH_JOBS, outcome_room - #taken - chosen) - expired - put_aside
  return math.max(1, math.min(room, want - #taken - chosen, left))
end

-- Whether the job may be called. If not, it is ended here. `counted`: its failed attempts; false if no attempt was
-- recorded. `is_claimed`: whether this take has claimed it, which Redis counts as a delivery.
local function is_callable(keys, id, entry, counted, is_claimed)
  local size = count_read(entry)
  if size > LARGEST_FOREIGN and counted_bytes(entry) == 0 then
    opened_rare().end_too_large(keys, id, size)
    return false
  end
  local deadline = tonumber(option(entry, 'expires'))
  if not deadline or deadline > now_ms or (tonumber(counted or nil) or 0) > 0 then return true end
  opened_rare().end_expired(keys, id, entry, counted, is_claimed)
  return false
end

-- Adds a job that this take has claimed. `due_ms`: when it became due, if it was parked and is traced.
local function give(keys, id, entry, counted, due_ms)
  if not is_callable(keys, id, entry, counted, true) then return end
  taken[#taken + 1] = { id, entry, tonumber(counted or nil) or 0, due_ms }
end

local read_due, next_due
do
  local PARKED = KEYS[#KEYS - 2]

  -- The first `most` parked jobs that are due.
  function read_due(most)
    return redis.call('ZRANGE', PARKED, '-inf', whole(now_ms), 'BYSCORE', 'LIMIT', 0, most)
  end

  -- µs until the next parked job is due.
  function next_due()
    local first = redis.call('ZRANGE', PARKED, 0, 0, 'WITHSCORES')
    return first[2] and math.max(0, first[2] * 1000 - now_us) or math.huge
  end
end
