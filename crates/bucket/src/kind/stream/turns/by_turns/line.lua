-- Stream kind: reads flows (by_turns.lua). The line has those that may get more jobs, ordered by virtual time.
-- needs: kind/flow_state, kind/flows, kind/divide, kind/flow_ranges

local leave_line, first_in_line, full_flows
do
  -- The minimum of flows read by one command, and the maximum read by one script.
  local FLOWS_AT_ONCE, MOST_FLOWS, NONE = 16, 256, {}

  -- Allocated with room for all members.
  local function new_flow(turn, name, at)
    local space = string.find(name, ' ', 1, true) or 1
    local flow = {
      name = name, number = tonumber(string.sub(name, 1, space - 1)) or -1, rank = nil, at = tonumber(at),
      weight = turn.has_weights and turn.weights[string.sub(name, space + 1)] or 1, calls = 0,
      -- The limits of its caller (bound_states.lua) or nil; whether it has reached them, or has no more jobs.
      bound = nil, is_full = nil, is_out = nil,
      -- The last page of its ranges, whether it is the last of all, how many ranges were read in all, the next index in
      -- the page, the current range.
      ranges = NONE, is_last = nil, seen = 0, next = 1, range = nil,
    }
    flow.rank = flow_state.rank_of(flow)
    return flow
  end

  -- `called`: flows of the line that had a call, most of which come after the others.
  local function line_up(turn, line, called)
    local first = #line
    for i = 1, #called do line[first + i] = called[i] end
    sort_by_time(line)
    turn.line = line
  end

  -- Reads up to `most` further flows, and returns them without UNSORTED; and the virtual time up to which all are read.
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

  -- Adds further flows to the line, after the first `walked`.
  local function extend_line(turn, most, walked)
    local read, reach = read_flows(turn, most)
    -- Before flows that had a call, so that the line is nearly sorted.
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

  -- Removes flows without further jobs, or at their limits, and sorts the line.
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

  -- Whether further flows may be read, and may have jobs.
  local function may_extend(turn)
    return turn.reach < math.huge and #turn.flows < MOST_FLOWS and turn.found < turn.ranges
  end

  -- The first `most` flows with a job, all of which come before any flow that wasn't read; and the virtual time of the
  -- next flow.
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

  -- The flows at their limits that have further jobs. Those that have none are marked as is_out instead.
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
