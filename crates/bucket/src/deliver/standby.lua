-- Records that a process serves the bucket without being a member. Returns what it needs to decide whether to join.
--
-- needs: at_maxmemory, now, kind/jobs
-- KEYS  1 jobs  2 replicas (hash)  3 standby (hash: name → ms of its last record, and after how many ms it is gone,
--       unless that is USUAL)  4 state of the pace (string), then of a list its takers (hash)
-- ARGV  1 name  2 ms after which the process is gone unless it is recorded again
-- Result  { level, number of members }
local JOBS, REPLICAS, STANDBY, TIERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local name, silence, USUAL = ARGV[1], ARGV[2], '180000'

local level = count_jobs(JOBS)
redis.call('HSET', STANDBY, name, whole(now_ms) .. (silence == USUAL and '' or ' ' .. silence))
local known, longest = redis.call('HGETALL', STANDBY), 0
for i = 1, #known, 2 do
  local noted, lasts = string.match(known[i + 1], '^(%d+) ?(%d*)$')
  lasts = tonumber(lasts ~= '' and lasts or USUAL)
  if not noted or math.abs(now_ms - noted) >= lasts then
    redis.call('HDEL', STANDBY, known[i])
  else
    longest = math.max(longest, lasts)
  end
end
redis.call('PEXPIRE', STANDBY, whole(longest))
-- The state of the pace must not expire meanwhile: a missing state counts as used up.
redis.call('PERSIST', TIERS)
return { level, redis.call('HLEN', REPLICAS) }
