-- Counts the jobs of a bucket at one moment, and reads its totals, rates and replicas.
--
-- needs: now, pace, spend, kind/jobs, kind/census
-- KEYS  1 jobs  2 pace (hash)  3 meter (hash)  4 tally (hash)  5 control (hash)  6 dead (stream)  7 replicas (hash)
--       8 standby (hash)  9 members (hash)  10 outbox (stream)  11 history (hash, as in sample.lua)
--       12 where there is a pace, its state (string),
--       then the kind's: throttled (zset), flow-state (hash), parked (zset), flows (zset), ranges (zset) | the list of
--       each taker, takers (hash)
-- ARGV  1 version of what is in force (pace.lua)  2 plan of the pace ('': none)
--       3 ms within which a parked job is due soon  4 the finest window of the history, and the next one: name, seconds
--       of a slot, slots
-- Result  { 'changed', … }
--         { now in µs, level, parked, due soon, in flight or parked, dead, id of the oldest job or '', free tokens or
--           -1, µs until the next token, ms until which the bucket is throttled, speed in thousandths of the rate, its
--           reason, { consumer, pending, times: ms when it joined (0 on standby), ms of its latest heartbeat, ms after
--           which it is dead without one, as far as known, … of members, of those on standby, and of owners of jobs },
--           { tally, … }, { meter, … }, 1 if paused, number of outcome jobs,
--           the numbers of slots of the history (slots.lua), each '' if missing: the open ones of both windows, and the
--           last closed one of the second window }
local JOBS, PACE, CONTROL = KEYS[1], KEYS[2], KEYS[5]
local METER, TALLY, DEAD, REPLICAS, STANDBY, MEMBERS = KEYS[3], KEYS[4], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local OUTBOX, HISTORY, TIERS = KEYS[10], KEYS[11], KEYS[12]
local version, plan = ARGV[1], ARGV[2]
local changed, paused = control_read(CONTROL, version)
if changed then return changed end

-- In KEYS of a list bucket: the first list of a taker, which comes after the state of the pace, if there is one.
local FIRST_TAKEN = plan == '' and 12 or 13

local level, pending, holders = count_jobs(JOBS)
local parked = count_parked()
pending = count_claimed(pending, holders, parked)
local by_consumer, times, consumers = {}, {}, {}
for _, key in ipairs({ REPLICAS, STANDBY }) do
  for _, consumer in ipairs(redis.call('HKEYS', key)) do by_consumer[consumer] = 0 end
end
local standby, members = redis.call('HGETALL', STANDBY), redis.call('HGETALL', MEMBERS)
-- A replica on standby may have been a member: the times of its standby replace those of its membership.
for i = 1, #members, 2 do times[members[i]] = members[i + 1] end
for i = 1, #standby, 2 do times[standby[i]] = '0 ' .. standby[i + 1] end
for _, holder in ipairs(holders) do by_consumer[holder[1]] = tonumber(holder[2]) end
for consumer, count in pairs(by_consumer) do
  consumers[#consumers + 1] = consumer
  consumers[#consumers + 1] = count
  consumers[#consumers + 1] = times[consumer] or ''
end
local pace = pace_read(PACE)
-- Without members and a state, the first replica that joins marks the pace as new (join.lua).
if plan ~= '' and redis.call('HLEN', REPLICAS) == 0 and redis.call('EXISTS', TIERS) == 0 then pace.new = true end
local tokens, next_token = pace_room(pace, plan)
if plan == '' then tokens = -1 end
local fine, coarse, seconds, slots = string.match(ARGV[4], '^(%w+) %d+ %d+ (%w+) (%d+) (%d+)$')
local before = math.floor(now_ms / 1000 / seconds) - 1
local recent = redis.call('HMGET', HISTORY, fine, coarse, coarse .. ':' .. before % slots)
-- Cuts off the sketches, which may be long.
for i = 1, #recent do recent[i] = string.match(recent[i] or '', '^[^|]*') end
return {
  whole(now_us), level, parked, count_due(whole(now_ms + tonumber(ARGV[3]))), pending, redis.call('XLEN', DEAD),
  oldest_job(JOBS, FIRST_TAKEN), tokens, whole(next_token), whole(pace.hold), whole(pace.speed), pace.why or '',
  consumers, redis.call('HGETALL', TALLY), redis.call('HGETALL', METER), paused and 1 or 0,
  redis.call('XLEN', OUTBOX), recent,
}
