-- Stream kind: the states of callers, or groups, with limits during a take: how many calls each may have, and has.
-- needs: now, kind/bound_rates, kind/debts, kind/flow_state, kind/flows, kind/flow_times

-- Set up by bounds_in_force.lua. `limits_of`: from open_limits; `clock`, `lost`: as in flow_state.lua; `undrained`: for
-- how many µs granted calls don't drain (permit.rs); `bounds`: by flow number { number, owner: `number name`, limits,
-- rates, state, is_new, room, calls, is_changed }; `jobs`, `throttled`: what is to be written to these keys;
-- `has_room`: whether the hash has room for another caller, nil until that was checked.
local states = {
  limits_of = nil, clock = nil, lost = nil, undrained = nil, bounds = {}, jobs = {}, throttled = {}, has_room = nil,
}
do
  -- A flow that is paused, or at its maximum of calls, is checked again after this many µs, in case a message was lost.
  local LOOK_AGAIN = 10000000

  local function has_room_for_more()
    -- With this many fields in the hash, callers without a state have to wait.
    local MOST_FIELDS = 100000
    if states.has_room == nil then states.has_room = redis.call('HLEN', flow_state.hash) < MOST_FIELDS end
    return states.has_room
  end

  -- How many calls may begin.
  local function room_of(bound)
    local limits, state = bound.limits, bound.state
    if limits.paused then return 0 end
    local room = room_in_rates(bound.rates, state.debts)
    if limits.most then room = math.min(room, limits.most - state.in_flight) end
    if bound.is_new and room > 0 and not has_room_for_more() then return 0 end
    return math.max(0, room)
  end

  local function new_bound(number, flow)
    local name = string.match(flow.name, '^%d+ (.*)$')
    local limits, text = states.limits_of(name), whole(number)
    return {
      number = text, owner = text .. ' ' .. name, limits = limits, rates = limits.rates or {}, state = nil,
      is_new = nil, room = nil, calls = 0, is_changed = nil,
    }
  end

  -- `text`: the state of the caller, or false.
  local function read(bound, text)
    local known = flow_state.read(text)
    local state = known or { in_flight = 0, full = states.clock, waits = false, out = '' }
    local has_waited = flow_state.back[bound.number]
    state.debts = flow_state.debts(bound.rates, known, states.clock, states.lost, has_waited)
    state.at = states.clock
    bound.is_new, bound.state = known == nil, state
    bound.room = room_of(bound)
  end

  -- Sets `bound` of each of these flows { name, number, … }.
  function states.look(flows)
    local asked, numbers = {}, {}
    for _, flow in ipairs(flows) do
      local number = (flow.number - 1) % flow_state.numbers + 1
      local bound = states.bounds[number]
      if not bound then
        bound = new_bound(number, flow)
        states.bounds[number], asked[#asked + 1], numbers[#numbers + 1] = bound, bound, bound.number
      end
      flow.bound = bound
    end
    if #asked == 0 then return end
    for i, text in ipairs(redis.call('HMGET', flow_state.hash, unpack(numbers))) do read(asked[i], text) end
  end

  -- Counts a job in flight.
  function states.count(flow, id)
    local bound, jobs = flow.bound, states.jobs
    bound.state.in_flight, bound.is_changed = bound.state.in_flight + 1, true
    jobs[#jobs + 1], jobs[#jobs + 2] = id, bound.owner
  end

  -- Counts and charges a job that is called now.
  function states.take(flow, id)
    states.count(flow, id)
    local bound = flow.bound
    charge_rates(bound.rates, bound.state.debts, bound.calls == 0 and states.undrained or 0)
    bound.calls = bound.calls + 1
  end

  -- When a caller may be called again.
  local function opens_at(bound)
    local limits, state, clock = bound.limits, bound.state, states.clock
    if limits.paused then return clock + LOOK_AGAIN end
    if limits.most and state.in_flight >= limits.most then
      state.waits, bound.is_changed = true, true
      return clock + LOOK_AGAIN
    end
    if bound.is_new and states.has_room == false then return clock + LOOK_AGAIN / 10 end
    return clock + flow_state.wait_behind(bound.rates, state.debts, 0)
  end

  local function put_out(flow, first)
    local bound, rank, throttled = flow.bound, flow_state.rank_of(flow), states.throttled
    -- The time of a newcomer, at most that of this flow, which is used if no other flow waits.
    local begin = math.min(flow.at, begin_of(rank, first, flow.at))
    throttled[#throttled + 1], throttled[#throttled + 2] = whole(opens_at(bound)), flow.name
    local others = flow_state.without(bound.state.out, rank)
    bound.state.out = others .. string.format(' %d:%.0f:%.0f', rank, flow.at, begin)
    -- A new state that says only where the flow comes back isn't written if that is where a newcomer begins.
    local comes_back_earlier = flow.at > begin and has_room_for_more()
    bound.is_changed = bound.is_changed or not bound.is_new or comes_back_earlier
  end

  -- Moves flows that may not be called any more to `throttled`.
  function states.put_out(flows)
    local first = redis.call('ZRANGE', FLOWS, 0, 1, 'WITHSCORES')
    for _, flow in ipairs(flows) do put_out(flow, first) end
  end

  -- Removes a few spare states, from a random sample; also those whose throttled flows somebody deleted.
  local function forget()
    -- This many µs after its last change, a state without calls has no throttled flow any more.
    local FORGOTTEN_AT_ONCE, OUT_AT_MOST = 10, 10 * LOOK_AGAIN
    local sample, gone = redis.call('HRANDFIELD', flow_state.hash, FORGOTTEN_AT_ONCE, 'WITHVALUES'), {}
    for i = 1, #sample, 2 do
      local state = not states.bounds[tonumber(sample[i])] and flow_state.read(sample[i + 1])
      if state and state.at + OUT_AT_MOST <= states.clock then state.out = '' end
      if state and flow_state.is_spare(state, states.clock) then gone[#gone + 1] = sample[i] end
    end
    if #gone > 0 then redis.call('HDEL', flow_state.hash, unpack(gone)) end
  end

  function states.write()
    local words, throttled, is_new = states.jobs, states.throttled, false
    for _, bound in pairs(states.bounds) do
      if bound.is_changed then
        local state = bound.state
        state.full = states.clock + time_to_drain(bound.rates, state.debts)
        words[#words + 1], words[#words + 2] = bound.number, flow_state.text(state)
        is_new = is_new or bound.is_new
      end
    end
    if #words > 0 then redis.call('HSET', flow_state.hash, unpack(words)) end
    if #throttled > 0 then redis.call('ZADD', flow_state.throttled, unpack(throttled)) end
    if is_new then forget() end
    states.bounds, states.jobs, states.throttled = {}, {}, {}
  end
end
