-- Stream kind: places among those that wait, for jobs that are admitted.
-- needs: constants, kind/flows, kind/sort_in

-- A batch of no more jobs takes no places where nobody waits: a take sorts them in if that matters.
local FEW = 64

-- How many calls come before that of another job of `caller`, when each of the flows has its turns; and those of it
-- that `count_own` counts.
local function ahead_of(caller, waiting, weights, count_own)
  local flow, total = flow_of(caller), redis.call('ZCARD', FLOWS)
  local names, weighted = {}, {}
  for name, weight in pairs(weights) do
    names[#names + 1], weighted[#weighted + 1] = flow_of(name).name, weight
  end
  local there = #names > 0 and redis.call('ZMSCORE', FLOWS, unpack(names)) or {}
  for i = 1, #names do
    if there[i] then total = total + weighted[i] - 1 end
  end
  local own, weight = flow.jobs, weights[caller] or 1
  if redis.call('ZSCORE', FLOWS, flow.name) then
    own = own + count_own()
  else
    total = total + weight
  end
  return math.min(waiting, math.ceil((own + 1) * total / weight) - 1)
end

-- For a batch of `jobs`; nil where they take no places: what waits in no flow yet comes before them. `text`: the
-- weights, '' where nobody takes turns.
local function open_places(keys, holders, text, waiting, jobs)
  if text == '' or waiting == 0 and jobs <= FEW then return nil end
  -- Refused at maxmemory, as what comes after a first write that needs no memory isn't; it changes nothing.
  redis.call('ZADD', FLOWS, 'XX', 0, '')
  local is_all, flows = sort_new(keys, first_flows(2), waiting, 0, BATCH_BYTES)
  if not is_all then
    write_runs(flows)
    return nil
  end
  local weights, last, own = read_weights(text), nil, {}
  return {
    ahead = function(caller, now_waiting)
      local function count_own()
        -- Of nobody's jobs it isn't counted how many there are.
        if caller == '' then return now_waiting end
        own[caller] = own[caller] or tonumber(redis.call('HGET', holders, caller) or 0)
        return own[caller]
      end
      return ahead_of(caller, now_waiting, weights, count_own)
    end,
    add = function(id, caller, due, deadline)
      note_new(keys.jobs, id, caller, due, deadline)
      last = id
    end,
    close = function()
      if last then redis.call('XGROUP', 'SETID', keys.jobs, GROUP, last) end
      write_runs(flows)
    end,
  }
end
