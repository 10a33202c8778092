-- Stream kind: the places of admitted jobs in the fair queuing. Most need none: no job waits, or all waiting jobs are
-- of one caller.
-- needs: kind/unread
-- opens: open_placing = kind/placing

local placing
local function opened_placing()
  placing = placing or open_placing()
  return placing
end

-- As open_own_waits in own_wait.lua.
local function own_waits_by(bounds, holders)
  return bounds ~= '' and opened_placing().open_own_waits(bounds, holders) or nil
end

-- `text`: the weights, '' without fair queuing.
local function takes_turns(text)
  return text ~= ''
end

-- For a batch into a bucket with `level` jobs. `text`: the weights. `is_few`: no job waits, and the batch is so small
-- that a take sorts its jobs in if needed. `pace`: from pace_read. `bounds`: limits per caller, '' without any. `sole`:
-- the caller of all jobs, nil if there are several, false if that wasn't checked. `callers_of_batch()`: a list, or nil.
local function open_places(keys, holders, text, level, is_few, pace, bounds, sole, callers_of_batch)
  local is_bounded = pace.flows or bounds ~= ''
  -- Opened by the first job that needs a place; false if not all waiting jobs could be sorted in, so that new ones come
  -- after them. And whether a job with a priority came.
  local queue, is_ranked
  -- `sole`: the caller of all jobs in the bucket, including those of this batch; nil if there are several.
  local places = { sole = sole or nil }

  -- Whether this job and all jobs in the bucket are of one flow.
  local function is_of_one(group, caller, priority)
    if sole == false then
      sole = nil
      -- In a small batch the earlier jobs weren't checked.
      if not (is_bounded or is_few) then
        sole = level == 0 and caller or sole_caller(keys, holders, level, pace.is_mixed)
      end
      places.sole = sole
    end
    return sole == caller and not (group or priority)
  end

  -- A job with a priority takes a place even if no job waits, so that takes don't hand it out after later ones.
  local function takes_place(group, caller, priority)
    local asks_first = priority and not is_ranked
    if not asks_first and (is_few or queue == false) then return false end
    return not is_of_one(group, caller, priority)
  end

  -- How many calls come before that of the next job, if `now_waiting` jobs wait. Needn't be called for a job of the
  -- caller `sole` without a group and a priority, which takes no place.
  function places.ahead(group, caller, priority, now_waiting)
    if not queue then
      if not takes_place(group, caller, priority) then return now_waiting end
      is_ranked = is_ranked or priority
      local callers = callers_of_batch()
      queue = opened_placing().open_queue(keys, holders, text, pace.flows, sole, now_waiting, callers)
      places.sole = nil
    end
    return queue and queue.ahead(group, caller, priority, now_waiting) or now_waiting
  end

  -- Adds the job of the last call of `ahead`.
  function places.add(id, due, deadline)
    if queue then return queue.add(id, due, deadline) end
    -- A delayed job must be read when it is sorted in, so jobs can't be sorted in unread any more.
    if due then sole, places.sole = nil, nil end
  end

  function places.close()
    if queue then queue.close() end
  end

  return places
end
