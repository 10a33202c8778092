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

  -- Where newcomers begin (flow_times.lua) after this flow had the last call: at the virtual time of that. If the flow
  -- has more jobs, LEAD earlier, so that not only the first call of a newcomer but also its second one comes before the
  -- next one of this flow. Not if the flow has such a lead itself, or others began with it that weren't called yet, as
  -- newcomers come after those before them. `first`: by rank, the time of the first flow in the line.
  local function time_for_newcomers(turn, flow, first)
    local began = flow.at - UNIT / flow.weight
    if flow.is_out or (first[flow.rank] or math.huge) <= began + LEAD then return began end
    for i = #turn.line, 1, -1 do
      local lead = turn.line[i].at - flow.at
      if lead <= 0 then break end
      if lead <= LEAD then return began end
    end
    return began - LEAD
  end

  -- Writes by rank where newcomers begin, while jobs wait.
  local function note_called(turn, first)
    if turn.reach == math.huge and #turn.line == 0 then return forget_called() end
    local last, words = {}, {}
    for _, flow in ipairs(turn.flows) do
      if flow.calls > 0 and flow.name ~= UNSORTED then
        local other = last[flow.rank]
        local is_last = not other or flow.at - UNIT / flow.weight > other.at - UNIT / other.weight
        if is_last then last[flow.rank] = flow end
      end
    end
    for rank, flow in pairs(last) do
      words[#words + 1], words[#words + 2] = 'called' .. rank, whole(time_for_newcomers(turn, flow, first))
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

  -- Writes the virtual times of flows that were called. One that ran out of jobs before its share was used saves
  -- nothing up: it gets the time of the first flow, less no more than a newcomer's lead. Removes those without jobs if
  -- they weren't called, or if no other flow waits. Returns by rank the latest time that was written.
  local function write_flows(turn, first)
    local charged, away, latest = {}, {}, {}
    local are_all = turn.reach == math.huge
    for _, flow in ipairs(turn.flows) do
      local first_of_rank = first[flow.rank] or not are_all and flow.at
      local stays = not flow.is_full and flow.calls > 0 and (not flow.is_out or first_of_rank)
      if stays then
        local at = flow.is_out and math.max(flow.at, first_of_rank - LEAD) or flow.at
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
    local first = first_times(turn)
    note_called(turn, first)
    local latest = write_flows(turn, first)
    if #full > 0 then turn.states.put_out(full) end
    reset_times_if_late(latest)
    if turn.states then turn.states.write() end
  end
end
