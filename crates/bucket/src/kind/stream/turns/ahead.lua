-- Stream kind: estimates how many calls come before that of a job that is admitted.
-- needs: counts, kind/flow_state, kind/flows, kind/count_waiting

local count_ahead, look_for
do
  -- At the start of the script: the number of flows of each rank, and of jobs in ranks before it.
  local flows_of, jobs_before = {}, {}
  -- Whether any flow has a priority other than normal; nil until that was checked.
  local has_ranks

  local function count_flows(rank)
    if not flows_of[rank] then
      local _, _, from, to = bounds_of(rank)
      flows_of[rank] = redis.call('ZCOUNT', FLOWS, from, to)
    end
    return flows_of[rank]
  end

  -- The jobs in ranks that are called before this flow's. Flow numbers are ordered by rank: normal, high, low.
  local function count_before(flow)
    if flow.rank == 1 then return 0 end
    if not jobs_before[flow.rank] then
      local first, behind = select(5, bounds_of(flow.rank == 0 and 1 or 0)), select(5, bounds_of(2))
      jobs_before[flow.rank] = count_waiting(first, behind - 1)
    end
    local noted = flow_state.noted
    return jobs_before[flow.rank] + noted[1] + (flow.rank == 2 and noted[0] or 0)
  end

  -- The waiting jobs of a flow. Without priorities, a caller's jobs in the bucket are a good estimate; these aren't
  -- counted for groups, nor for jobs without a caller.
  local function count_own(flow, waiting, holders)
    if has_ranks or flow.group then
      flow.before = flow.before or count_waiting(flow.number, flow.number)
      return flow.before
    end
    if flow.of == '' then return waiting end
    flow.held = flow.held or held_of(holders, flow.of)
    return flow.held
  end

  -- In a round each flow has as many calls as its weight. How many that adds to one call for each existing flow, for
  -- weights of callers or, if `flow` is a group's, of groups.
  local function count_heavier(flow, weights)
    local names, weighted, more = {}, {}, 0
    for name, of_name in pairs(weights) do
      names[#names + 1], weighted[#weighted + 1] = flow_of(flow.group and name, name, flow.priority).name, of_name
    end
    for i, there in ipairs(redis.call('ZMSCORE', FLOWS, unpack(names))) do
      if there then more = more + weighted[i] - 1 end
    end
    return more
  end

  -- Reads the flows of several callers, and their jobs in the bucket, by one command each.
  function look_for(callers, holders)
    local flows, names = {}, {}
    for i, caller in ipairs(callers) do
      flows[i] = flow_of(nil, caller)
      names[i] = flows[i].name
    end
    for i, there in ipairs(redis.call('ZMSCORE', FLOWS, unpack(names))) do flows[i].was_there = there end
    find_held(holders, callers)
  end

  -- The calls before the next job of a flow, which shares rounds with the flows of its rank. `waiting`: number of
  -- waiting jobs.
  function count_ahead(flow, weight, waiting, weights, holders)
    local total = flows_of[flow.rank] or count_flows(flow.rank)
    if next(weights) then total = total + count_heavier(flow, weights) end
    if has_ranks == nil then has_ranks = redis.call('ZCARD', FLOWS) > count_flows(0) end
    has_ranks = has_ranks or flow.rank ~= 0
    local own = flow.jobs
    if flow.was_there == nil then flow.was_there = redis.call('ZSCORE', FLOWS, flow.name) end
    if flow.was_there then
      own = own + count_own(flow, waiting, holders)
    else
      total = total + weight
    end
    local turns = math.ceil((own + 1) * total / weight) - 1
    if has_ranks then turns = turns + count_before(flow) end
    return math.min(waiting, turns)
  end
end
