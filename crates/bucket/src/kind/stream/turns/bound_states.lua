-- Stream kind: how often callers, or groups, may be called now, and what of that this script has used.
-- needs: now, kind/debts, kind/flow_state, kind/flows

-- { look, count, take, put_out, write }; a field, as a script has no room for more than 200 names. `limits_of` as
-- open_limits makes it; `clock`, `lost` as in flow_state.lua; `undrained`: for how many µs what is granted now
-- doesn't drain (permit.rs).
function flow_state.open_states(limits_of, clock, lost, undrained)
  -- What is blocked by its calls, or paused, is looked at again after this many µs, should a message be lost. Sums of
  -- tokens are exact but for as much as EXACT. The most fields of the hash: one who isn't known waits at it.
  local LOOK_AGAIN, EXACT, MOST_FIELDS, FORGOTTEN_AT_ONCE = 10000000, 0.000000001, 100000, 10
  -- In µs: so long after its last change no flow of a state is throttled any more whose calls have ended.
  local OUT_AT_MOST = 10 * LOOK_AGAIN
  -- Of a caller: { number, owner: `number name`, limits, its rates, state, is_new, room, calls, is_changed }, by the
  -- number.
  local bounds, jobs, throttled, NO_RATES = {}, {}, {}, {}
  local has_room

  local function has_room_for_more()
    if has_room == nil then has_room = redis.call('HLEN', flow_state.hash) < MOST_FIELDS end
    return has_room
  end

  local function room_of(bound)
    local limits, room = bound.limits, math.huge
    if limits.paused then return 0 end
    if limits.most then room = limits.most - bound.state.in_flight end
    for i = 1, #bound.rates do
      local rate = bound.rates[i]
      if rate then room = math.min(room, math.floor(rate.burst - bound.state.debts[i] + EXACT)) end
    end
    if bound.is_new and room > 0 and not has_room_for_more() then return 0 end
    return math.max(0, room)
  end

  local function read(bound, text)
    local known = flow_state.read(text)
    bound.is_new = known == nil
    bound.state = known or { in_flight = 0, full = clock, waits = false, out = '' }
    local has_waited = flow_state.back[bound.number]
    bound.state.debts, bound.state.at = flow_state.debts(bound.rates, known, clock, lost, has_waited), clock
    bound.room = room_of(bound)
  end

  local states = {}

  -- Each of these flows { name, number, … } gets its `bound`.
  function states.look(flows)
    local asked, numbers = {}, {}
    for _, flow in ipairs(flows) do
      local number = (flow.number - 1) % flow_state.numbers + 1
      local bound = bounds[number]
      if not bound then
        local name = string.match(flow.name, '^%d+ (.*)$')
        local limits = limits_of(name)
        bound = { number = whole(number), limits = limits, rates = limits.rates or NO_RATES, calls = 0 }
        bound.owner = bound.number .. ' ' .. name
        bounds[number], asked[#asked + 1], numbers[#numbers + 1] = bound, bound, bound.number
      end
      flow.bound = bound
    end
    if #asked == 0 then return end
    for i, text in ipairs(redis.call('HMGET', flow_state.hash, unpack(numbers))) do read(asked[i], text) end
  end

  -- A job that is in flight.
  function states.count(flow, id)
    local bound = flow.bound
    bound.state.in_flight, bound.is_changed = bound.state.in_flight + 1, true
    jobs[#jobs + 1], jobs[#jobs + 2] = id, bound.owner
  end

  -- One that is called now.
  function states.take(flow, id)
    states.count(flow, id)
    local bound, rates, debts = flow.bound, flow.bound.rates, flow.bound.state.debts
    for i = 1, #rates do
      local rate = rates[i]
      if rate and bound.calls == 0 and undrained > 0 then
        debts[i] = math.max(debts[i], undrained * rate.limit / rate.period)
      end
      if rate then debts[i] = debts[i] + 1 end
    end
    bound.calls = bound.calls + 1
  end

  -- When a caller may be called again.
  local function opens_at(bound)
    local limits, state = bound.limits, bound.state
    if limits.paused then return clock + LOOK_AGAIN end
    if limits.most and state.in_flight >= limits.most then
      state.waits, bound.is_changed = true, true
      return clock + LOOK_AGAIN
    end
    if bound.is_new and has_room == false then return clock + LOOK_AGAIN / 10 end
    local wait = 0
    for i, rate in ipairs(bound.rates) do
      if rate then wait = math.max(wait, (state.debts[i] + 1 - rate.burst) * rate.period / rate.limit) end
    end
    return clock + math.ceil(wait)
  end

  local function put_out(flow, first)
    local state, rank = flow.bound.state, flow_state.rank_of(flow)
    -- Where nobody waits, it is behind nobody. It is never before a newcomer: below 0 are the times of another rank.
    local begin = math.min(flow.at, flow_state.begin_of(rank, first, flow.at))
    throttled[#throttled + 1], throttled[#throttled + 2] = whole(opens_at(flow.bound)), flow.name
    state.out = flow_state.without(state.out, rank) .. string.format(' %d:%.0f:%.0f', rank, flow.at, begin)
    -- Of one of whom nothing else is known, and that comes back where it was, nothing is kept.
    local comes_back_earlier = flow.at > begin and has_room_for_more()
    flow.bound.is_changed = flow.bound.is_changed or not flow.bound.is_new or comes_back_earlier
  end

  -- Flows that may not be called any more, and aren't among the others.
  function states.put_out(flows)
    local first = redis.call('ZRANGE', FLOWS, 0, 1, 'WITHSCORES')
    for _, flow in ipairs(flows) do put_out(flow, first) end
  end

  -- A few states that are spare, found by chance: also those whose throttled flows somebody deleted.
  local function forget()
    local sample, gone = redis.call('HRANDFIELD', flow_state.hash, FORGOTTEN_AT_ONCE, 'WITHVALUES'), {}
    for i = 1, #sample, 2 do
      local state = not bounds[tonumber(sample[i])] and flow_state.read(sample[i + 1])
      if state and state.at + OUT_AT_MOST <= clock then state.out = '' end
      if state and flow_state.is_spare(state, clock) then gone[#gone + 1] = sample[i] end
    end
    if #gone > 0 then redis.call('HDEL', flow_state.hash, unpack(gone)) end
  end

  function states.write()
    local words, is_new = jobs, false
    for _, bound in pairs(bounds) do
      if bound.is_changed then
        local state, drains = bound.state, 0
        for i = 1, #bound.rates do
          local rate = bound.rates[i]
          if rate then drains = math.max(drains, state.debts[i] * rate.period / rate.limit) end
        end
        state.full = clock + math.ceil(drains)
        words[#words + 1], words[#words + 2] = bound.number, flow_state.text(state)
        is_new = is_new or bound.is_new
      end
    end
    if #words > 0 then redis.call('HSET', flow_state.hash, unpack(words)) end
    if #throttled > 0 then redis.call('ZADD', flow_state.throttled, unpack(throttled)) end
    if is_new then forget() end
    bounds, jobs, throttled = {}, {}, {}
  end

  return states
end
