-- Stream kind: which parked jobs are due.
-- needs: now

local read_due, next_due
do
  local PARKED = KEYS[#KEYS - 2]

  -- The first `most` of them.
  function read_due(most)
    return redis.call('ZRANGE', PARKED, '-inf', whole(now_ms), 'BYSCORE', 'LIMIT', 0, most)
  end

  -- µs until one is.
  function next_due()
    local first = redis.call('ZRANGE', PARKED, 0, 0, 'WITHSCORES')
    return first[2] and math.max(0, first[2] * 1000 - now_us) or math.huge
  end
end
