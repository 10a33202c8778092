-- Stream kind: fair queuing: hands out jobs of flows in the order of their virtual times. Only created by takes that
-- need it (turns.lua).
-- needs: kind/give, kind/flows, kind/divide, kind/flow_ranges, kind/line, kind/calls, kind/write_turn

-- The maximum of ranges that one script ends: their jobs may all have been cancelled.
local MOST_RANGES = 1000

-- The state of one take. `asked`: as for hand_out_by_turns.
local function new_turn(asked)
  return {
    keys = asked.keys, consumer = asked.consumer, want = asked.want,
    -- Weights by caller, and whether any are set; the states of callers with limits (bound_states.lua), or nil.
    weights = asked.weights, has_weights = next(asked.weights) ~= nil, states = asked.bounds and asked.bounds.states,
    -- The flows that were read; of these, those that may have more jobs, by virtual time; and the time from which on
    -- there may be flows that weren't read (line.lua).
    flows = {}, line = {}, reach = -math.huge,
    -- The number of ranges read, and of all ranges; and the ranges to remove (flow_ranges.lua).
    found = 0, ranges = redis.call('ZCARD', RANGES), gone = {},
    -- Jobs { id, entry, failed attempts, when it became due }…, the flow of each, and whether it is plain; ids of jobs
    -- that were read but not claimed; ids of lone jobs that weren't read, and their flows; and whether any lone job
    -- couldn't be claimed (calls.lua).
    jobs = {}, owners = {}, plain = {}, unclaimed = {}, lone = {}, lone_owners = {}, has_holes = false,
  }
end

local function takes_more(turn)
  return goes_on(turn.want) and #turn.gone < MOST_RANGES
end

-- Chooses jobs of a flow, up to its share and its limits.
local function serve(turn, flow, share)
  local goal = flow.calls + (flow.bound and math.min(share, flow.bound.room) or share)
  while flow.calls < goal and takes_more(turn) do
    local left = goal - flow.calls
    local range = range_of_flow(turn, flow, left)
    if not range then return end
    if range.lone then
      choose_lone(turn, flow)
      -- After a lone job that couldn't be claimed, claims each at once, so that the flow gets another job instead.
      if turn.has_holes then call_lone(turn) end
    else
      call_new(turn, flow, math.min(left, at_once(turn.keys, turn.want)))
    end
  end
end

-- Gives calls to the first flows, round by round.
local function serve_in_rounds(turn)
  while takes_more(turn) do
    leave_line(turn)
    -- No more than may certainly be read, as jobs are charged when they are chosen.
    local most = at_once(turn.keys, turn.want)
    local first, reach = first_in_line(turn, most)
    if #first == 0 then return end
    for i, share in ipairs(divide(first, most, reach)) do
      if share > 0 then serve(turn, first[i], share) end
    end
    call_lone(turn)
  end
end

-- Hands out up to `asked.want` jobs, of each flow at most as many as `asked.bounds` allows (nil: no limit). Returns
-- whether these were all jobs in flows. `asked`: { keys, consumer, want, weights: from read_weights, bounds: from
-- open_bounds }.
local function hand_out_by_turns(asked)
  local turn = new_turn(asked)
  serve_in_rounds(turn)
  leave_line(turn)
  claim_chosen(turn)
  write_turn(turn, full_flows(turn))
  return turn.reach == math.huge and #turn.line == 0
end

return hand_out_by_turns
