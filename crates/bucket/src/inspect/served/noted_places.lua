-- Answers which places processes have noted, and when, a page of them. One that is noted meanwhile may come twice.
--
-- KEYS  1 buckets (hash)
-- ARGV  1 where the page begins ('0': at the first)  2 about how many it has
-- Result  { ms of the Redis clock, where the next page begins ('0': this is the last),
--           { place, ms when it was last noted, … } }
local BUCKETS, cursor, most = KEYS[1], ARGV[1], ARGV[2]
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

local page = redis.call('HSCAN', BUCKETS, cursor, 'COUNT', most)
return { string.format('%.0f', now_ms), page[1], page[2] }
