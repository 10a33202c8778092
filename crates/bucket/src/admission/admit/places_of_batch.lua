-- The places of a batch's jobs among the waiting ones in the fair queuing.
-- needs: batch, kind/places

-- The callers of the batch; nil if some jobs have none, or extras: then their callers have no regular places in ARGV.
local function callers_of_batch()
  if not CALLER or has_more then return nil end
  local callers, are_there, step = {}, {}, owned + (has_limits and 1 or 0)
  for i = 1, owned do
    if own[i] == CALLER then
      for at = PLACES + 2 + step - owned + i, #ARGV, step do
        local caller = ARGV[at]
        if not are_there[caller] then callers[#callers + 1], are_there[caller] = caller, true end
      end
      return callers
    end
  end
  return { entry[CALLER] }
end

-- `sole`: as in places.lua.
local function look_for_places(sole)
  places = open_places(keys, HOLDERS, ARGV[12], level_before, is_few, pace, ARGV[15], sole, callers_of_batch)
end

-- As count_before, but opens the places if this job needs one. If no job waits, a small batch needs none, except for
-- jobs with a priority.
local function count_jobs_before(group, caller, priority)
  if takes_turns(ARGV[12]) and not places and (priority or not is_few) then
    -- If jobs without a caller take no places, all jobs until now have no caller.
    look_for_places(nobodys_take == false and (level_before > 0 or accepted > 0) and '' or false)
  end
  return count_before(group, caller, priority)
end

-- µs until this many jobs have left.
local function wait_to_leave(jobs)
  return wait_for_room(METER, pace, look, level, jobs)
end
