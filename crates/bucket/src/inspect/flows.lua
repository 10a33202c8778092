-- Lists the flows with waiting jobs, in the order of their turns. First sorts in jobs that no take has sorted in yet.
--
-- needs: at_maxmemory, constants, now, pace, kind/jobs, kind/flow_state
-- needs: kind/flows, kind/ranges, kind/flow_times, kind/runs, kind/sort_in
-- KEYS  1 jobs (stream)  2 tally (hash)  3 control (hash), then throttled (zset), flow-state (hash), parked (zset),
--       flows (zset), ranges (zset)
-- ARGV  1 version of what is in force (pace.lua)  2 the weights of callers that take turns (JSON; '': no turns)
--       3 maximum number of flows to return
-- Result  { 'changed', … }
--         { number of all flows, now in ms, { priority, waiting jobs, id of the oldest or '', … },
--           { { priority, 1 for a group, its name or the caller's, waiting jobs, its calls in flight at all priorities
--             or '', ms until which it is throttled or '' }, … } }: of a priority the flows that aren't throttled first
local keys = { jobs = KEYS[1], tally = KEYS[2] }
-- Flows may be throttled: sorting in new jobs must not return a throttled flow to the turns.
flow_state.is_in_force = true
local CONTROL, version, weights, most = KEYS[3], ARGV[1], ARGV[2], tonumber(ARGV[3])
-- The maximum number, in one call, of flows that are read of a priority, and of ranges of one flow and of all flows of
-- a priority.
local FLOWS_AT_ONCE, RANGES_OF_ONE, RANGES_OF_ALL = 1000, 1000, 4000
local changed = control_read(CONTROL, version)
if changed then return changed end

if weights ~= '' then
  local level, pending = count_jobs(keys.jobs)
  local before = { flows = first_flows(2), not_pending = level - pending, waiting_again = 0 }
  local _, found = sort_new(keys, before, BATCH_BYTES)
  write_runs(found)
end

-- Returns the older one of `oldest`, the range with the oldest job so far, { from, to, first id }, and another range.
local function older(oldest, range)
  local from, to = read_range(range)
  if not from then return oldest end
  local is_rest = string.sub(from, 1, 1) == '('
  local first = is_rest and string.sub(from, 2) or from
  if oldest and oldest.first <= first then return oldest end
  return { from = from, to = to, first = first }
end

-- Returns the number of waiting jobs of a flow, the number of their ranges, and the range with the oldest job so far.
local function look_at(number, oldest)
  local first, last = whole(2 * number), whole(2 * number + 1)
  local ranges = redis.call('ZRANGE', RANGES, first, last, 'BYSCORE', 'LIMIT', 0, RANGES_OF_ONE)
  local waiting = 0
  for _, range in ipairs(ranges) do
    local _, _, jobs = read_range(range)
    waiting, oldest = waiting + tonumber(jobs or 0), older(oldest, range)
  end
  return waiting, #ranges, oldest
end

-- The id of the oldest job; '' if it was cancelled.
local function id_of(oldest)
  local found = oldest and redis.call('XRANGE', keys.jobs, oldest.from, oldest.to, 'COUNT', 1)[1]
  return found and found[1] or ''
end

-- The calls in flight of a flow's caller, or group, at all priorities; '' if they aren't counted.
local clock, clock_wall = string.match(redis.call('HGET', flow_state.hash, 'clock') or '', '^(%d+) (%d+)')
local function in_flight_of(number)
  if not clock then return '' end
  local owner = whole((number - 1) % flow_state.numbers + 1)
  local state = flow_state.read(redis.call('HGET', flow_state.hash, owner))
  return state and whole(state.in_flight) or '0'
end

-- Converts µs of the clock of flows to ms of the Redis clock.
local function wall_ms(at)
  local from_now = at - clock - math.max(0, now_us - clock_wall)
  return whole(math.ceil((now_us + math.max(0, from_now)) / 1000))
end

-- The first flows of a rank, as pairs: the flow, and false or the µs until which it is throttled.
local function flows_of(rank, from, to)
  local found = {}
  for _, flow in ipairs(redis.call('ZRANGE', FLOWS, from, to, 'BYSCORE', 'LIMIT', 0, FLOWS_AT_ONCE)) do
    found[#found + 1], found[#found + 2] = flow, false
  end
  local throttled = redis.call('ZRANGE', flow_state.throttled, 0, FLOWS_AT_ONCE - 1, 'WITHSCORES')
  for i = 1, clock and #throttled or 0, 2 do
    local number = string.match(throttled[i], '^%d+') or 1
    if math.floor((number - 1) / flow_state.numbers) == rank then
      found[#found + 1], found[#found + 2] = throttled[i], throttled[i + 1]
    end
  end
  return found
end

local priorities, shown = {}, {}
for _, priority in ipairs({ 'high', 'normal', 'low' }) do
  local rank = flow_of(nil, '', priority).rank
  local _, _, from, to, _, of_groups = bounds_of(rank)
  local looked_at, all, oldest = 0, 0, nil
  local flows = flows_of(rank, from, to)
  for i = 1, #flows, 2 do
    local flow, throttled = flows[i], flows[i + 1]
    if looked_at >= RANGES_OF_ALL then break end
    local number, name = string.match(flow, '^(%d+) (.*)$')
    number = tonumber(number)
    local waiting, ranges = 0, 0
    if number then waiting, ranges, oldest = look_at(number, oldest) end
    looked_at, all = looked_at + ranges, all + waiting
    if waiting > 0 and #shown < most then
      local is_group, until_ms = number >= of_groups and 1 or 0, throttled and wall_ms(throttled) or ''
      shown[#shown + 1] = { priority, is_group, name, waiting, in_flight_of(number), until_ms }
    end
  end
  if all > 0 then
    local last = #priorities
    priorities[last + 1], priorities[last + 2], priorities[last + 3] = priority, all, id_of(oldest)
  end
end
return { redis.call('ZCARD', FLOWS) + redis.call('ZCARD', flow_state.throttled), whole(now_ms), priorities, shown }
