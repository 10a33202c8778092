-- Begins or extends a throttle.
-- needs: now, throttle_left

-- An upstream asked to wait for `hold` ms from now. An earlier throttle that ends later stays.
local function throttle(key, hold)
  local found = redis.call('HMGET', key, 'hold', 'looked')
  local passed = since_look(found[2])
  local before = moved_hold(tonumber(found[1]) or 0, passed, passed > IDLE_POLL / 1000 + CLOCK_STEP)
  redis.call('HSET', key, 'hold', whole(math.max(before, now_ms + hold)), 'looked', whole(now_ms))
end
