-- Stream kind: counts the waiting jobs of flows.
-- needs: now, counts, kind/flows, kind/ranges

-- Jobs that a caller had in the bucket when the script began.
local function held_of(holders, caller)
  if held_found[caller] == nil then find_held(holders, { caller }) end
  return tonumber(held_found[caller] or nil) or 0
end

-- The jobs of the flows with these numbers.
local function count_waiting(first, last)
  -- The jobs of this many ranges are added up. Further ranges are estimated to be as long on average.
  local RANGES_LOOKED_AT = 100
  local from, to = whole(2 * first), whole(2 * last + 1)
  local ranges, jobs = redis.call('ZRANGE', RANGES, from, to, 'BYSCORE', 'LIMIT', 0, RANGES_LOOKED_AT), 0
  for _, range in ipairs(ranges) do
    local _, _, of_range = read_range(range)
    jobs = jobs + tonumber(of_range or 0)
  end
  if #ranges < RANGES_LOOKED_AT then return jobs end
  return math.ceil(jobs * redis.call('ZCOUNT', RANGES, from, to) / #ranges)
end
