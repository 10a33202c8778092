-- Counters of bytes.
-- needs: now

-- Adds to a counter of bytes in the tally (bytes, of the jobs; outcomes_bytes; dead_bytes), or takes off. Never below
-- 0: what an earlier version wrote, or Redis lost, isn't counted.
local function count_bytes(keys, counter, bytes)
  if bytes == 0 then return end
  if redis.call('HINCRBY', keys.tally, counter, whole(bytes)) < 0 then redis.call('HSET', keys.tally, counter, 0) end
end

-- The bytes of the names and values of a letter, or an outcome job.
local function letter_bytes(fields)
  local bytes = 0
  for _, text in ipairs(fields) do bytes = bytes + #text end
  return bytes
end
