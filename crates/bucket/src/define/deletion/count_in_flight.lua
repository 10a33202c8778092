-- How many jobs are in flight, whichever kind of bucket they are in. `takers`: where a list's are counted.
-- needs: constants
local function count_in_flight(jobs, takers)
  local count, counted = 0, redis.call('HGETALL', takers)
  for i = 2, #counted, 2 do count = count + tonumber(counted[i]) end
  -- { how many, first, last, { { consumer, how many }… } }; none where the group isn't there.
  local pending = redis.pcall('XPENDING', jobs, GROUP)
  for _, owner in ipairs(pending[4] or {}) do
    if owner[1] ~= PARKED_OWNER then count = count + tonumber(owner[2]) end
  end
  return count
end
