-- Stream kind: places among those that wait, for jobs that are admitted. Most take none: nobody waits, or all that do
-- are of one caller.
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

-- `text`: the weights, '' where nobody takes turns.
local function takes_turns(text)
  return text ~= ''
end

-- For a batch into a bucket with `level` jobs. `text`: the weights. `is_few`: nobody waits, and the batch is so small
-- that a take sorts its jobs in if that matters. `pace`: as pace_read makes it. `bounds`: '' where nobody has a rate
-- alone. `sole`: the caller of all jobs, where that was looked for; else false. `callers_of_batch`: a list, or nil.
local function open_places(keys, holders, text, level, is_few, pace, bounds, sole, callers_of_batch)
  local is_bounded = pace.flows or bounds ~= ''
  -- Where the others take theirs; false: not all that waits could be sorted in, so what comes is behind it. And whether
  -- one with a priority has asked.
  local queue, is_ranked
  -- `sole`: of all that there is and was added so far; nil where there are several.
  local places = { sole = sole or nil }

  -- Whether all that there is, and this job, are of one flow.
  local function is_of_one(group, caller, priority)
    if sole == false then
      sole = nil
      -- Of few, those before this one weren't asked about.
      if not (is_bounded or is_few) then
        sole = level == 0 and caller or sole_caller(keys, holders, level, pace.is_mixed)
      end
      places.sole = sole
    end
    return sole == caller and not (group or priority)
  end

  -- One with a priority takes a place where nobody waits, too, so that no take reads it behind what comes after it.
  local function takes_place(group, caller, priority)
    local asks_first = priority and not is_ranked
    if not asks_first and (is_few or queue == false) then return false end
    return not is_of_one(group, caller, priority)
  end

  -- How many calls come before that of another job, where `now_waiting` wait. It needn't be asked for a job of the
  -- caller `sole`, with neither a group nor a priority: that one takes no place.
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

  -- The job that was asked about last.
  function places.add(id, due, deadline)
    if queue then return queue.add(id, due, deadline) end
    -- What isn't due is read when it is sorted in, so it never is one of a caller's run that is sorted in unread.
    if due then sole, places.sole = nil, nil end
  end

  function places.close()
    if queue then queue.close() end
  end

  return places
end
