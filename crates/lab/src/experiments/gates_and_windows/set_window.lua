-- A window of time stamps in a sorted set. They are made of seconds and microseconds, one written behind the other: in
-- the first tenth of a second the microseconds have fewer digits, and the stamp is taken for one that is long over.
--
-- KEYS  1 the window (sorted set)
-- ARGV  1 µs of the window  2 limit
-- Result  1 passes, 0 doesn't
local time = redis.call('TIME')
local stamp = time[1] .. time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, tonumber(stamp) - tonumber(ARGV[1]))
local count = redis.call('ZCARD', KEYS[1])
if count == tonumber(ARGV[2]) then return 0 end
if count < tonumber(ARGV[2]) then redis.call('ZADD', KEYS[1], stamp, time[1] .. ':' .. time[2]) end
return 1
