-- Stream kind: adds admitted jobs to their flows (places.lua).
-- needs: constants, kind/flow_state, kind/flows, kind/flow_times, kind/runs, kind/sort_in, kind/ahead, kind/own_wait

-- Sorts in the waiting jobs that aren't in flows yet. Returns whether these were all, and the first flows.
local function sort_in_all(keys, sole, waiting)
  -- Changes nothing, but fails at maxmemory. The next write might need no memory, and allow the following ones.
  redis.call('ZADD', FLOWS, 'XX', 0, '')
  -- Fails before the first write if this key has another type.
  redis.call('ZCARD', RANGES)
  local first = first_flows(2)
  if not sole or #first > 0 or not flow_state.begins() then
    return sort_new(keys, { flows = first, not_pending = waiting, waiting_again = 0 }, BATCH_BYTES)
  end
  sort_sole(keys, sole, waiting)
  return true, first_flows(2)
end

-- `text`: the weights. `is_bounded`: whether flows may be throttled. `sole`: the caller of all jobs in the bucket,
-- including this batch, or nil. `waiting`: number of waiting jobs. `callers`: of the batch, or nil. Returns false if
-- not all waiting jobs could be sorted in: the others come first.
local function open_queue(keys, holders, text, is_bounded, sole, waiting, callers)
  flow_state.is_in_force = is_bounded
  local is_all, flows = sort_in_all(keys, sole, waiting)
  if not is_all then
    write_runs(flows)
    return false
  end
  local weights, queue, flow, last = read_weights(text), {}, nil, nil
  if callers then look_for(callers, holders) end

  function queue.ahead(group, caller, priority, now_waiting)
    flow = flow_of(group, caller, priority)
    return count_ahead(flow, weights[flow.of] or 1, now_waiting, weights, holders)
  end

  function queue.add(id, due, deadline)
    note_new(keys.jobs, id, flow, due, deadline)
    last = id
  end

  function queue.close()
    if last then redis.call('XGROUP', 'SETID', keys.jobs, GROUP, last) end
    write_runs(flows)
  end

  return queue
end

return { open_queue = open_queue, open_own_waits = open_own_waits }
