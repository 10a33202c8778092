-- A log of the last tries, denied ones included: who doesn't slow down is never let through again.
--
-- KEYS  1 the log (sorted set)
-- ARGV  1 µs of the window  2 limit  3 least µs between two tries
-- Result  1 passes, 0 doesn't
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - tonumber(ARGV[1]))
local count = redis.call('ZCARD', KEYS[1])
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
redis.call('ZADD', KEYS[1], string.format('%.0f', now), string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil(tonumber(ARGV[1]) / 1000))
if count >= tonumber(ARGV[2]) then return 0 end
if last and now - tonumber(last) < tonumber(ARGV[3]) then return 0 end
return 1
