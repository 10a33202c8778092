-- Stream kind: resets the virtual times of a rank before they reach those of the next one. Needed once in some million
-- calls, unless all flows are removed before, because no job waits.
-- needs: kind/flows

local reset_times_if_late
do
  local WRITTEN_AT_ONCE = 1000

  local function reset_times(rank)
    local origin, _, from, to = bounds_of(rank)
    local flows = redis.call('ZRANGE', FLOWS, from, to, 'BYSCORE', 'WITHSCORES')
    local first, words = tonumber(flows[2]), {}
    for i = 1, #flows, 2 do
      words[#words + 1], words[#words + 2] = whole(origin + (flows[i + 1] - first)), flows[i]
      if #words == 2 * WRITTEN_AT_ONCE or i == #flows - 1 then
        redis.call('ZADD', FLOWS, unpack(words))
        words = {}
      end
    end
  end

  -- `latest`: by rank, the latest time that was written.
  function reset_times_if_late(latest)
    for rank, at in pairs(latest) do
      local origin, behind = bounds_of(rank)
      if at - origin >= (behind - origin) / 2 then reset_times(rank) end
    end
  end
end
