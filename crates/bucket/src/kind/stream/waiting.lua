-- Stream kind: iterates over waiting jobs in the order of their ids.
-- needs: constants, budget, kind/pending
local RANGES = KEYS[#KEYS]

-- The id after which to begin. If no range exists, all waiting jobs come after the last-delivered id.
local function first_waiting(jobs, after)
  if redis.call('ZCARD', RANGES) > 0 then return after end
  local delivered = last_delivered(jobs)
  if delivered and (after == '' or is_after(delivered, after)) then return delivered end
  return after
end

-- Calls look(id, entry) for waiting jobs after the id `after` ('': from the first on), up to `last`, while goes_on().
-- Skips pending jobs without reading them. Returns the id after which to continue, and whether that was all.
local function each_waiting(jobs, parked, after, last, goes_on, look)
  -- The maximum of pending jobs in one call, so that they don't block Redis.
  local LOOKED_AT = 200
  after = first_waiting(jobs, after)
  local function from() return after == '' and '-' or '(' .. after end
  local function read(to)
    local found = first_entry(jobs, from(), to)
    if found then
      after = found[1]
      count_read(found[2])
      look(found[1], found[2])
    end
    return found
  end

  local pending = pending_jobs(jobs, from(), last, LOOKED_AT)
  for i = 1, #pending + 1 do
    local held = pending[i]
    if not held and #pending == LOOKED_AT then return after, false end
    repeat
      if not goes_on() then return after, false end
    until not read(held and '(' .. held[1] or last)
    if held and held[2] == PARKED_OWNER and not redis.call('ZSCORE', parked, held[1]) then read(held[1]) end
    if held then after = held[1] end
  end
  return after, true
end
