-- Counts the jobs in flight of a bucket of either kind. `takers`: the hash with a list's jobs in flight by consumer.
-- needs: constants
local function count_in_flight(jobs, takers)
  local count, counted = 0, redis.call('HGETALL', takers)
  for i = 2, #counted, 2 do count = count + tonumber(counted[i]) end
  -- { count, first id, last id, { { consumer, count }… } }; an error if the group doesn't exist.
  local pending = redis.pcall('XPENDING', jobs, GROUP)
  for _, owner in ipairs(pending[4] or {}) do
    if owner[1] ~= PARKED_OWNER then count = count + tonumber(owner[2]) end
  end
  return count
end
