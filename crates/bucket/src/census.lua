-- Counts a bucket at one moment.
--
-- KEYS  1 jobs (stream)  2 parked (zset)  3 pace (hash)  4 meter (hash)  5 tally (hash)  6 control (hash)  7 dead (stream)
--       8 replicas (hash)
-- ARGV  1 calls and 2 µs of the rate (0: none)  3 burst
-- Result  { now in µs, level, parked, pending, dead, id of the oldest job or '', tokens free or -1, hold until ms,
--           { consumer, pending, … of members and of all who hold jobs }, { tally, … }, { meter, … }, { control, … } }
local JOBS, PACE, CONTROL = KEYS[1], KEYS[3], KEYS[6]
local force = settings_in_force(CONTROL, 0, 0, ARGV[1], ARGV[2], ARGV[3], 0)

local pending = redis.pcall('XPENDING', JOBS, 'processors')
local held, by_consumer, consumers = 0, {}, {}
for _, member in ipairs(redis.call('HKEYS', KEYS[8])) do by_consumer[member] = 0 end
if not pending.err then
  held = pending[1]
  for _, consumer in ipairs(pending[4] or {}) do by_consumer[consumer[1]] = tonumber(consumer[2]) end
end
for consumer, count in pairs(by_consumer) do
  consumers[#consumers + 1] = consumer
  consumers[#consumers + 1] = count
end
local oldest = redis.call('XRANGE', JOBS, '-', '+', 'COUNT', 1)[1]
local pace = pace_read(PACE)
local tokens = -1
if force.limit > 0 then
  local full = force.burst * force.period
  tokens = math.floor((full - pace_level(pace, force.limit, force.period, force.burst)) / force.period)
end
return {
  whole(now_us), redis.call('XLEN', JOBS), redis.call('ZCARD', KEYS[2]), held, redis.call('XLEN', KEYS[7]),
  oldest and oldest[1] or '', tokens, whole(pace.hold), consumers, redis.call('HGETALL', KEYS[5]),
  redis.call('HGETALL', KEYS[4]), redis.call('HGETALL', CONTROL),
}
