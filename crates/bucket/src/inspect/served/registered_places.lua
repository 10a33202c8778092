-- Returns a page of the places that processes have noted, with the times of the notes. A place may come twice.
--
-- KEYS  1 buckets (hash)
-- ARGV  1 cursor of the page ('0': the first one)  2 the approximate number of places in a page
-- Result  { ms of the Redis clock, cursor of the next page ('0': this is the last),
--           { place, ms when it was last noted, … } }
local BUCKETS, cursor, most = KEYS[1], ARGV[1], ARGV[2]
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

local page = redis.call('HSCAN', BUCKETS, cursor, 'COUNT', most)
return { string.format('%.0f', now_ms), page[1], page[2] }
