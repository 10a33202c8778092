-- Notes which buckets a process has among its settings: some of them in each call.
--
-- KEYS  1 buckets (hash)
-- ARGV  the places
-- Result  how many
local BUCKETS = KEYS[1]
local time = redis.call('TIME')
local now_ms = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))

-- After a write that needs no memory the others are carried out also at maxmemory.
redis.call('HDEL', BUCKETS, '')
local noted = {}
for i, place in ipairs(ARGV) do noted[2 * i - 1], noted[2 * i] = place, now_ms end
redis.call('HSET', BUCKETS, unpack(noted))
return #ARGV
