-- Stream kind: what a take has gathered so far, and what becomes of a job on the way; and which parked jobs are due.
-- needs: constants, now, budget, kind/entry, kind/unread

-- Jobs { id, fields, failed attempts unless there are none, when it became due where that is known }…; how many
-- expired, and how many were parked or ended otherwise.
local taken, expired, put_aside = {}, 0, 0
-- Which of them are known to be plain.
local known_plain = {}
-- How many were chosen and aren't claimed yet.
local chosen = 0
-- How many jobs there were at first.
local level_at_first

-- What few takes need (turns.lua), once it is opened; and how many died on the way.
local rare = { died = 0 }
local function opened_rare()
  rare.opened = rare.opened or rare.open()
  return rare.opened
end

local function goes_on(want)
  local ended = expired + put_aside
  return #taken + chosen < want and ended < BATCH_JOBS and #taken + chosen + ended < outcome_room and may_read()
end

-- How many entries one command may read; at least one.
local function at_once(keys, want)
  local largest = largest_entry(keys, level_at_first)
  local room = largest and math.floor((BATCH_BYTES - bytes_read) / largest) or 1
  local left = math.min(BATCH_JOBS, outcome_room - #taken - chosen) - expired - put_aside
  return math.max(1, math.min(room, want - #taken - chosen, left))
end

-- Whether it may be called: else it has ended here. `counted`: its failed attempts as they are counted; false for a job
-- that no call has reported anything of. `is_claimed`: for this take, which counted as a delivery, though no replica
-- saw the job.
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

-- One that was claimed for this take. `due_ms`: when it became due, where it was parked and is traced.
local function give(keys, id, entry, counted, due_ms)
  if not is_callable(keys, id, entry, counted, true) then return end
  taken[#taken + 1] = { id, entry, tonumber(counted or nil) or 0, due_ms }
end

local read_due, next_due
do
  local PARKED = KEYS[#KEYS - 2]

  -- The first `most` of them.
  function read_due(most)
    return redis.call('ZRANGE', PARKED, '-inf', whole(now_ms), 'BYSCORE', 'LIMIT', 0, most)
  end

  -- µs until one is.
  function next_due()
    local first = redis.call('ZRANGE', PARKED, 0, 0, 'WITHSCORES')
    return first[2] and math.max(0, first[2] * 1000 - now_us) or math.huge
  end
end
