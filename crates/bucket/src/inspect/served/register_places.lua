-- Notes places of buckets that a process has in its settings, with the current time.
--
-- KEYS  1 buckets (hash)
-- ARGV  the places
-- Result  the number of places
local BUCKETS = KEYS[1]
local time = redis.call('TIME')
local now_ms = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))

-- At maxmemory Redis allows all writes of a script whose first write needs no memory.
redis.call('HDEL', BUCKETS, '')
local noted = {}
for i, place in ipairs(ARGV) do noted[2 * i - 1], noted[2 * i] = place, now_ms end
redis.call('HSET', BUCKETS, unpack(noted))
return #ARGV
