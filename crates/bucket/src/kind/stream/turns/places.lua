-- Stream kind: places among those that wait, for jobs that are admitted.
-- needs: constants, kind/flow_state, kind/flows, kind/sort_in, kind/ahead

-- A batch of no more jobs takes no places where nobody waits: a take sorts them in if that matters.
local FEW = 64

-- For a batch of `jobs`; nil where they take no places: what waits in no flow yet comes before them. `text`: the
-- weights, '' where nobody takes turns. `is_ranked`: one of them has a priority; where nobody waits it takes a place,
-- too, so that no take reads it behind what comes after it. `is_bounded`: some may be throttled.
local function open_places(keys, holders, text, waiting, jobs, is_ranked, is_bounded)
  flow_state.is_in_force = is_bounded
  if text == '' or waiting == 0 and jobs <= FEW and not is_ranked then return nil end
  -- Refused at maxmemory, as what comes after a first write that needs no memory isn't; it changes nothing.
  redis.call('ZADD', FLOWS, 'XX', 0, '')
  local is_all, flows = sort_new(keys, first_flows(2), waiting, 0, BATCH_BYTES)
  if not is_all then
    write_runs(flows)
    return nil
  end
  local weights, flow, last = read_weights(text), nil, nil
  return {
    -- How many calls come before that of another job.
    ahead = function(group, caller, priority, now_waiting)
      flow = flow_of(group, caller, priority)
      return count_ahead(flow, weights[flow.of] or 1, now_waiting, weights, holders)
    end,
    -- The job that was asked about last.
    add = function(id, due, deadline)
      note_new(keys.jobs, id, flow, due, deadline)
      last = id
    end,
    close = function()
      if last then redis.call('XGROUP', 'SETID', keys.jobs, GROUP, last) end
      write_runs(flows)
    end,
  }
end
