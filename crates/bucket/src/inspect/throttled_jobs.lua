-- Counts waiting jobs that can't use a slot soon, because of the rate or the maximum of concurrent calls of their
-- callers, or groups. Jobs that no take has sorted in yet aren't counted.
--
-- needs: now, pace, kind/debts, kind/flow_state, kind/flows, kind/count_waiting, limits_of
-- KEYS  1 control (hash), then throttled (zset), flow-state (hash), parked (zset), flows (zset), ranges (zset)
-- ARGV  1 version of what is in force (pace.lua)  2 the limits of callers, or groups (limits_of.lua)
--       3 µs within which a call begins soon  4 duration of a call in µs, with headroom
-- Result  { 'changed', … } | { number of jobs }
local CONTROL, version, limits_of = KEYS[1], ARGV[1], open_limits(ARGV[2])
local soon, call_us = tonumber(ARGV[3]), tonumber(ARGV[4])
-- The maximum number of flows read of each zset. The others are assumed to be like these on average.
local FLOWS_AT_ONCE = 500
local changed = control_read(CONTROL, version)
if changed then return changed end

local clock, wall, lost = string.match(redis.call('HGET', flow_state.hash, 'clock') or '', '^(%d+) (%d+) %x+ (%d+)$')
clock, lost = clock and clock + math.max(0, now_us - wall), tonumber(lost)

-- By the number of the normal flow: { number, name, jobs waiting at all priorities, alike: number of flows like this }.
local owners, numbers = {}, {}
for _, key in ipairs({ FLOWS, flow_state.throttled }) do
  local alike = math.max(1, redis.call('ZCARD', key) / FLOWS_AT_ONCE)
  for _, flow in ipairs(redis.call('ZRANGE', key, 0, FLOWS_AT_ONCE - 1)) do
    local number, name = string.match(flow, '^(%d+) (.*)$')
    number = tonumber(number)
    if number and flow ~= UNSORTED then
      local of = (number - 1) % flow_state.numbers + 1
      if not owners[of] then
        owners[of] = { number = of, name = name, waiting = 0, alike = alike }
        numbers[#numbers + 1] = whole(of)
      end
      owners[of].waiting = owners[of].waiting + count_waiting(number, number)
    end
  end
end

-- The number of calls of one caller, or group, that can begin soon and then be in flight together, besides those in
-- flight now: the calls that may begin now, or if more, those that the rate allows within the duration of a call.
local function room_of(owner, state)
  local limits, room, in_flight = limits_of(owner.name), math.huge, state and state.in_flight or 0
  if limits.paused then return 0 end
  if limits.most then room = limits.most - in_flight end
  local rates = limits.rates or {}
  local debts = flow_state.debts(rates, clock and state, clock, clock and lost or 0)
  for i, rate in ipairs(rates) do
    if rate then
      local tokens = rate.burst - debts[i]
      local under_way = math.max(1, math.ceil(call_us * rate.limit / rate.period))
      local startable = math.floor(tokens + soon * rate.limit / rate.period)
      room = math.min(room, startable, math.max(math.floor(tokens), under_way - in_flight))
    end
  end
  return math.max(0, room)
end

local found, jobs = #numbers > 0 and redis.call('HMGET', flow_state.hash, unpack(numbers)) or {}, 0
for i, number in ipairs(numbers) do
  local owner = owners[tonumber(number)]
  jobs = jobs + owner.alike * math.max(0, owner.waiting - room_of(owner, flow_state.read(found[i] or nil)))
end
return { math.floor(jobs + 0.5) }
