-- Counts a bucket at one moment.
--
-- KEYS  1 jobs  2 pace (hash)  3 meter (hash)  4 tally (hash)  5 control (hash)  6 dead (stream)  7 replicas (hash),
--       then the kind's: parked (zset) | the list of each taker, takers (hash)
-- ARGV  1 calls and 2 µs of the rate (0: none)  3 burst
-- Result  { now in µs, level, parked, pending, dead, id of the oldest job or '', tokens free or -1, hold until ms,
--           { consumer, pending, … of members and of all who hold jobs }, { tally, … }, { meter, … }, { control, … } }
local JOBS, PACE, CONTROL = KEYS[1], KEYS[2], KEYS[5]
local force = settings_in_force(CONTROL, 0, 0, ARGV[1], ARGV[2], ARGV[3], 0)

local level, pending, holders = count_jobs(JOBS)
local by_consumer, consumers = {}, {}
for _, member in ipairs(redis.call('HKEYS', KEYS[7])) do by_consumer[member] = 0 end
for _, holder in ipairs(holders) do by_consumer[holder[1]] = tonumber(holder[2]) end
for consumer, count in pairs(by_consumer) do
  consumers[#consumers + 1] = consumer
  consumers[#consumers + 1] = count
end
local pace = pace_read(PACE)
local tokens = -1
if force.limit > 0 then
  local full = pace_full(force.limit, force.period, force.burst)
  tokens = math.floor((full - pace_level(pace, force.limit, force.period, force.burst)) / force.period)
end
return {
  whole(now_us), level, count_parked(), pending, redis.call('XLEN', KEYS[6]),
  oldest_job(JOBS), tokens, whole(pace.hold), consumers, redis.call('HGETALL', KEYS[4]),
  redis.call('HGETALL', KEYS[3]), redis.call('HGETALL', CONTROL),
}
