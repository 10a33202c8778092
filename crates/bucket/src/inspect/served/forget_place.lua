-- Forgets a place in which nothing is, unless a process has noted it since its caller looked.
--
-- KEYS  1 buckets (hash)
-- ARGV  1 the place  2 ms when it was last noted, as its caller knows
-- Result  1; 0: it was noted since, or forgotten
local BUCKETS, place, noted_ms = KEYS[1], ARGV[1], ARGV[2]
if (tonumber(redis.call('HGET', BUCKETS, place) or nil) or 0) ~= tonumber(noted_ms) then return 0 end
return redis.call('HDEL', BUCKETS, place)
