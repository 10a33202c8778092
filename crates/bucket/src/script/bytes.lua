-- Counters of bytes in the tally: bytes (of the jobs), outcomes_bytes, dead_bytes.
-- needs: now

-- Adds, or takes off. Never below 0: what an earlier version wrote, or Redis lost, isn't counted.
local function count_bytes(keys, counter, bytes)
  if bytes == 0 then return end
  if redis.call('HINCRBY', keys.tally, counter, whole(bytes)) < 0 then redis.call('HSET', keys.tally, counter, 0) end
end
