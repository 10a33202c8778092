-- When each job in flight was taken.
--
-- KEYS  1 jobs (stream)
-- Result  { { id, ms of the Redis clock }… }
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local taken = {}
for _, job in ipairs(redis.call('XPENDING', KEYS[1], 'processors', '-', '+', 1000)) do
  taken[#taken + 1] = { job[1], now - job[3] }
end
return taken
