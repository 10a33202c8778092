-- Stream kind: other weights count from when they are set. By earlier ones somebody may have got a call that lasts for
-- many of those that come now.
-- needs: kind/flows

-- Before a take hands out by `weights`, as text. The last ones are in the hash of the pace (pace.lua).
function flow_state.see_weights(keys, weights)
  -- How many flows of one priority begin together, each behind the one before it by much less than a call: of more,
  -- those that come first.
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
