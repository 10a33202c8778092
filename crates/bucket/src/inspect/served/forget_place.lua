-- Removes an empty place from the registry, unless a process has noted it since the caller read it.
--
-- KEYS  1 buckets (hash)
-- ARGV  1 the place  2 the ms of its last note, as the caller read it
-- Result  1; 0: the place was noted since, or is already removed
local BUCKETS, place, noted_ms = KEYS[1], ARGV[1], ARGV[2]
if (tonumber(redis.call('HGET', BUCKETS, place) or nil) or 0) ~= tonumber(noted_ms) then return 0 end
return redis.call('HDEL', BUCKETS, place)
