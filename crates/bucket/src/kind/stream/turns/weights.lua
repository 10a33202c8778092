-- Stream kind: makes changed weights apply at once. With the old ones, a flow may have been charged as much for one
-- call as for many calls with the new ones.
-- needs: kind/flows

-- Called before a take hands out jobs by `weights`, as text. If they differ from the last ones, in the hash of the pace
-- (pace.lua), flows of the same priority begin again at nearly the same time.
function flow_state.see_weights(keys, weights)
  -- The maximum of flows of one priority that are changed: the first ones.
  local LEVELLED = 1000
  local print = weights == '{}' and '' or string.sub(redis.sha1hex(weights), 1, 8)
  if print == keys.pace_found.weights then return end
  for rank = 0, 2 do
    local _, _, from, to = bounds_of(rank)
    local flows = redis.call('ZRANGE', FLOWS, from, to, 'BYSCORE', 'LIMIT', 0, LEVELLED, 'WITHSCORES')
    local words = {}
    for i = 1, #flows, 2 do
      words[i], words[i + 1] = whole(flows[2] + i - 1), flows[i]
    end
    if #words > 0 then redis.call('ZADD', FLOWS, unpack(words)) end
  end
  redis.call('HSET', keys.pace, 'weights', print)
end
