-- Stream kind: writes the changes of a take to flows and ranges (by_turns.lua).
-- needs: now, kind/flows, kind/flow_times, kind/reset_times

local write_turn
do
  -- By rank, the virtual time of the first flow in the line.
  local function first_times(turn)
    local times = {}
    for _, flow in ipairs(turn.line) do times[flow.rank] = math.min(times[flow.rank] or flow.at, flow.at) end
    return times
  end

  -- Writes by rank the virtual time of the last call, where newcomers begin (flow_times.lua), while jobs wait.
  local function note_called(turn)
    if turn.reach == math.huge and #turn.line == 0 then return forget_called() end
    local called, words = {}, {}
    for _, flow in ipairs(turn.flows) do
      if flow.calls > 0 and flow.name ~= UNSORTED then
        local began = flow.at - UNIT / flow.weight
        called[flow.rank] = math.max(called[flow.rank] or began, began)
      end
    end
    for rank, began in pairs(called) do
      words[#words + 1], words[#words + 2] = 'called' .. rank, whole(began)
    end
    if #words > 0 then redis.call('HSET', flow_state.hash, unpack(words)) end
  end

  -- Removes ended ranges, and writes the rests of others. Returns whether any range is left.
  local function write_ranges(turn)
    local rests = {}
    for _, flow in ipairs(turn.flows) do
      local range = flow.range
      if range and range.is_rest then
        turn.gone[#turn.gone + 1] = range.text
        rests[#rests + 1] = whole(2 * flow.number + 1)
        rests[#rests + 1] = range.from .. ' ' .. range.to .. ' ' .. range.jobs
      end
    end
    if #turn.gone > 0 then redis.call('ZREM', RANGES, unpack(turn.gone)) end
    if #rests > 0 then redis.call('ZADD', RANGES, unpack(rests)) end
    return #rests > 0 or redis.call('ZCARD', RANGES) > 0
  end

  -- The virtual time of a flow that ran out of jobs. If that was before its share was used, it saves nothing up: it
  -- gets the time of the first flow. It comes before flows of the same time: after its first call it has that of a
  -- caller that floods, for which its next job would have to wait each time. Times count as the same if they differ by
  -- less than a thousandth of a call, as those of newcomers do (runs.lua).
  local function time_of_empty(turn, flow, first)
    local at, same = math.max(flow.at, first), UNIT / flow.weight / 1000
    local time = at
    for i = #turn.line, 1, -1 do
      local other = turn.line[i].at
      if other < at - same then break end
      if other <= at then time = other - 1 end
    end
    return time
  end

  -- Writes the virtual times of flows that were called. Removes those without jobs if they weren't called, or if no
  -- other flow waits. Returns by rank the latest time that was written.
  local function write_flows(turn)
    local charged, away, latest, first = {}, {}, {}, first_times(turn)
    local are_all = turn.reach == math.huge
    for _, flow in ipairs(turn.flows) do
      local first_of_rank = first[flow.rank] or not are_all and flow.at
      local stays = not flow.is_full and flow.calls > 0 and (not flow.is_out or first_of_rank)
      if stays then
        local at = flow.is_out and time_of_empty(turn, flow, first_of_rank) or flow.at
        charged[#charged + 1], charged[#charged + 2] = whole(at), flow.name
        latest[flow.rank] = math.max(latest[flow.rank] or at, at)
      elseif flow.is_out or flow.is_full then
        away[#away + 1] = flow.name
      end
    end
    if #charged > 0 then redis.call('ZADD', FLOWS, unpack(charged)) end
    if #away > 0 then redis.call('ZREM', FLOWS, unpack(away)) end
    return latest
  end

  -- `full`: the flows at their limits.
  function write_turn(turn, full)
    if not write_ranges(turn) then
      turn.line, turn.reach = {}, math.huge
      if turn.states then turn.states.write() end
      return forget_flows()
    end
    note_called(turn)
    local latest = write_flows(turn)
    if #full > 0 then turn.states.put_out(full) end
    reset_times_if_late(latest)
    if turn.states then turn.states.write() end
  end
end
