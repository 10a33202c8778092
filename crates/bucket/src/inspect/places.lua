-- Answers which places processes have noted, and when.
--
-- KEYS  1 buckets (hash)
-- Result  { ms of the Redis clock, { place, ms when it was last noted, … } }
local BUCKETS = KEYS[1]
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

return { string.format('%.0f', now_ms), redis.call('HGETALL', BUCKETS) }
