-- Notes that a process serves the bucket without being a member, and shows whether it should be one.
--
-- needs: at_maxmemory, now, kind/jobs
-- KEYS  1 jobs  2 replicas (hash)  3 standby (hash: name → ms when it was last noted)  4 state of the pace (string),
--       then where a list's takers are counted
-- ARGV  1 name  2 ms after which one that wasn't noted again is gone
-- Result  { level, number of members }
local JOBS, REPLICAS, STANDBY, TIERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local name, silence = ARGV[1], tonumber(ARGV[2])

local level = count_jobs(JOBS)
redis.call('HSET', STANDBY, name, whole(now_ms))
local known = redis.call('HGETALL', STANDBY)
for i = 1, #known, 2 do
  local noted = tonumber(known[i + 1]) or 0
  if math.abs(now_ms - noted) >= silence then redis.call('HDEL', STANDBY, known[i]) end
end
redis.call('PEXPIRE', STANDBY, silence)
-- What the pace has consumed must outlast the quiet time: a state that is missing counts as used up.
redis.call('PERSIST', TIERS)
return { level, redis.call('HLEN', REPLICAS) }
