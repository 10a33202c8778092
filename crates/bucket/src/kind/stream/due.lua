-- Stream kind: parked jobs are in the zset `parked`, the last of KEYS, by the ms at which they are due.
-- needs: now

-- µs until this many of `level` jobs may leave: those that are parked only when they are due.
local function wait_until_due(level, jobs)
  local parked = redis.call('ZCARD', KEYS[#KEYS])
  local of_parked = jobs - (level - parked)
  if of_parked < 1 then return 0 end
  local last = redis.call('ZRANGE', KEYS[#KEYS], of_parked - 1, of_parked - 1, 'WITHSCORES')
  return last[2] and math.max(0, tonumber(last[2]) * 1000 - now_us) or 0
end
