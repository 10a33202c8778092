-- Stream kind: hands out what waits in flows, in the order of their virtual times. Most takes don't: it is opened by
-- those that do (turns.lua).
-- needs: kind/give, kind/flows, kind/divide, kind/flow_ranges, kind/line, kind/calls, kind/write_turn

-- Of how many ranges one script looks for jobs, which somebody may have cancelled.
local MOST_RANGES = 1000

-- What one take does. `asked`: what hand_out_by_turns is given.
local function new_turn(asked)
  return {
    keys = asked.keys, consumer = asked.consumer, want = asked.want,
    -- By caller, and whether there are any; what is known of those that have limits (bound_states.lua), nil: none has.
    weights = asked.weights, has_weights = next(asked.weights) ~= nil, states = asked.bounds and asked.bounds.states,
    -- The flows that it has read; of these, those that may have more, in the order of their times; and the time from
    -- which on there are others (line.lua).
    flows = {}, line = {}, reach = -math.huge,
    -- How many ranges it has read, of all that there are; and those that go (flow_ranges.lua).
    found = 0, ranges = redis.call('ZCARD', RANGES), gone = {},
    -- Jobs { id, entry, failed attempts, when it became due }…, the flow of each, and which are plain; ids that aren't
    -- claimed yet, and of those the lone ones that aren't read either, with their flows; and whether any of these
    -- wasn't there (calls.lua).
    jobs = {}, owners = {}, plain = {}, unclaimed = {}, lone = {}, lone_owners = {}, has_holes = false,
  }
end

local function takes_more(turn)
  return goes_on(turn.want) and #turn.gone < MOST_RANGES
end

-- Chooses jobs of a flow, as many as its share, unless it may have fewer.
local function serve(turn, flow, share)
  local goal = flow.calls + (flow.bound and math.min(share, flow.bound.room) or share)
  while flow.calls < goal and takes_more(turn) do
    local left = goal - flow.calls
    local range = range_of_flow(turn, flow, left)
    if not range then return end
    if range.lone then
      choose_lone(turn, flow)
      -- The next one of this flow has its turn, and not that of another one.
      if turn.has_holes then call_lone(turn) end
    else
      call_new(turn, flow, math.min(left, at_once(turn.keys, turn.want)))
    end
  end
end

-- In each round all that come first get calls.
local function serve_in_rounds(turn)
  while takes_more(turn) do
    leave_line(turn)
    -- No more at once than surely may be read: what a flow has chosen is charged in the order of the times.
    local most = at_once(turn.keys, turn.want)
    local first, reach = first_in_line(turn, most)
    if #first == 0 then return end
    for i, share in ipairs(divide(first, most, reach)) do
      if share > 0 then serve(turn, first[i], share) end
    end
    call_lone(turn)
  end
end

-- Hands out up to `asked.want` jobs, of each flow at most as many as `asked.bounds` allows (nil: no limit). Whether
-- these were all jobs that wait in flows. `asked`: { keys, consumer, want, weights: as read_weights reads them,
-- bounds: as open_bounds makes them }.
local function hand_out_by_turns(asked)
  local turn = new_turn(asked)
  serve_in_rounds(turn)
  leave_line(turn)
  claim_chosen(turn)
  write_turn(turn, full_flows(turn))
  return turn.reach == math.huge and #turn.line == 0
end

return hand_out_by_turns
