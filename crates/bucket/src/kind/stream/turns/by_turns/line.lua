-- Stream kind: the flows that a take by turns (by_turns.lua) reads; and the line, which has those that may have more
-- jobs, in the order of their times.
-- needs: kind/flow_state, kind/flows, kind/divide, kind/flow_ranges

local leave_line, first_in_line, full_flows
do
  -- How many flows are read at once at least, and how many one script reads.
  local FLOWS_AT_ONCE, MOST_FLOWS, NONE = 16, 256, {}

  -- With room for all of its members from the start.
  local function new_flow(turn, name, at)
    local space = string.find(name, ' ', 1, true) or 1
    local flow = {
      name = name, number = tonumber(string.sub(name, 1, space - 1)) or -1, rank = nil, at = tonumber(at),
      weight = turn.has_weights and turn.weights[string.sub(name, space + 1)] or 1, calls = 0,
      -- What its caller may (bound_states.lua), nil: anything; whether it is at that limit, or out of jobs.
      bound = nil, is_full = nil, is_out = nil,
      -- Those of its ranges that were read last, how many were in all, the next one of them, and the one that it is at.
      ranges = NONE, seen = 0, next = 1, range = nil,
    }
    flow.rank = flow_state.rank_of(flow)
    return flow
  end

  -- `called`: those of the line that have had a call, and come behind most of the others.
  local function line_up(turn, line, called)
    local first = #line
    for i = 1, #called do line[first + i] = called[i] end
    sort_by_time(line)
    turn.line = line
  end

  -- Up to `most` further flows. The unsorted one isn't among them; and how far those that were read reach.
  local function read_flows(turn, most)
    local flows, read = redis.call('ZRANGE', FLOWS, #turn.flows, #turn.flows + most - 1, 'WITHSCORES'), {}
    for i = 1, #flows, 2 do
      local flow = new_flow(turn, flows[i], flows[i + 1])
      turn.flows[#turn.flows + 1] = flow
      if flow.name ~= UNSORTED then read[#read + 1] = flow end
    end
    if turn.states then turn.states.look(read) end
    return read, #flows < 2 * most and math.huge or tonumber(flows[#flows])
  end

  -- Puts further flows into the line, behind the first `walked`, which are called before any of these.
  local function extend_line(turn, most, walked)
    local read, reach = read_flows(turn, most)
    -- Before those that have had a call: so the line is nearly in order.
    local line, called = {}, {}
    for i = 1, #turn.line do
      local flow = turn.line[i]
      local part = i > walked and flow.calls > 0 and called or line
      part[#part + 1] = flow
    end
    for i = 1, #read do
      local flow = read[i]
      flow.is_full = flow.bound and flow.bound.room < 1
      if not flow.is_full then line[#line + 1] = flow end
    end
    line_up(turn, line, called)
    turn.reach = reach
  end

  -- Removes flows that have no further job, or are at their limit, from the line, which is in order then.
  function leave_line(turn)
    local line, called = {}, {}
    for i = 1, #turn.line do
      local flow = turn.line[i]
      if flow.bound then flow.is_full = flow.bound.room < 1 end
      if not flow.is_out and not flow.is_full then
        local part = flow.calls > 0 and called or line
        part[#part + 1] = flow
      end
    end
    line_up(turn, line, called)
  end

  -- Whether flows that this take may still read may have jobs.
  local function may_extend(turn)
    return turn.reach < math.huge and #turn.flows < MOST_FLOWS and turn.found < turn.ranges
  end

  -- The first `most` flows with a job, all of which are called before any that isn't read; and until when another one
  -- isn't called.
  function first_in_line(turn, most)
    local first, walked, flow = {}, 0, nil
    while #first < most do
      flow = turn.line[walked + 1]
      if flow and flow.at <= turn.reach then
        walked = walked + 1
        if range_of_flow(turn, flow, most / #turn.line) then first[#first + 1] = flow end
      elseif may_extend(turn) then
        extend_line(turn, math.max(FLOWS_AT_ONCE, most - #first), walked)
      else
        return first, turn.reach
      end
    end
    flow = turn.line[walked + 1]
    return first, flow and math.min(flow.at, turn.reach) or turn.reach
  end

  -- Flows at their limit that have further jobs. One that has none is at no limit, but out of jobs.
  function full_flows(turn)
    local full = {}
    if not turn.states then return full end
    for _, flow in ipairs(turn.flows) do
      if flow.is_full and range_of_flow(turn, flow, 1) then
        full[#full + 1] = flow
      elseif flow.is_full then
        flow.is_full, flow.is_out = false, true
      end
    end
    return full
  end
end
