-- The places that the jobs of a batch take among those that wait, and how long until these have left.
-- needs: batch, kind/places

-- Of all jobs; nil where not each has one, or where they aren't at the same distance in ARGV.
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
  places = open_places(keys, HOLDERS, ARGV[12], found, is_few, pace, ARGV[15], sole, callers_of_batch)
end

-- As count_before. In a small batch where nobody waits a job without a priority takes no place.
local function count_jobs_before(group, caller, priority)
  if takes_turns(ARGV[12]) and not places and (priority or not is_few) then
    -- Where they take none, all that are there, or came before in this batch, are nobody's.
    look_for_places(nobodys_take == false and (found > 0 or accepted > 0) and '' or false)
  end
  return count_before(group, caller, priority)
end

-- µs until this many jobs have left.
local function wait_to_leave(jobs)
  return wait_for_room(METER, pace, look, level, jobs)
end
