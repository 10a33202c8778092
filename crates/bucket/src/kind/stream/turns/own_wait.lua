-- Stream kind: how long a job waits for the rate limits of its caller, or of its group.
-- needs: now, kind/debts, kind/flow_state, kind/flows, kind/count_waiting, limits_of

-- Returns { wait, add }. `text`: limits of callers (limits_of.lua); `holders`: the jobs of callers in the bucket.
local function open_own_waits(text, holders)
  local limits_of, ORDER = open_limits(text), { 1, 0, 2 }
  -- By number of the normal flow: { number, rates, debts, waiting and added jobs by rank }.
  local known = {}

  -- The clock of flow_state.lua by now, and since when bursts are earned; nil if there is no state.
  local noted = flow_state.read_clock()
  local clock, lost = noted and noted.now + math.max(0, now_us - noted.wall), noted and noted.lost

  -- The debts of a caller by now.
  local function debts_of(number, rates)
    if not clock then return flow_state.debts(rates, nil, 0, 0) end
    local text = redis.call('HGET', flow_state.hash, whole(number))
    return flow_state.debts(rates, flow_state.read(text), clock, lost)
  end

  local function look_at(flow)
    local limits = limits_of(flow.of)
    if not limits.rates then return nil end
    local number = (flow.number - 1) % flow_state.numbers + 1
    local own = known[number]
    if not own then
      own = { number = number, rates = limits.rates, debts = debts_of(number, limits.rates) }
      own.waiting, own.added = {}, { [0] = 0, 0, 0 }
      known[number] = own
    end
    return own
  end

  -- The caller's waiting jobs up to a rank, by priority, including those that this script hasn't written yet.
  local function count_before(own, group, caller, rank)
    local before = 0
    for _, of in ipairs(ORDER) do
      local number = own.number + of * flow_state.numbers
      own.waiting[of] = own.waiting[of] or count_waiting(number, number)
      local flow = flow_of(group, caller, of == 1 and 'high' or of == 2 and 'low' or nil)
      before = before + own.waiting[of] + math.max(flow.jobs, own.added[of])
      if of == rank then return before end
    end
  end

  -- Whether a caller has tokens for all of its jobs in the bucket. Their number needn't be counted, and is at least
  -- that of the waiting ones. It isn't known for groups, nor for jobs without a caller.
  local function has_tokens_for_all(own, flow)
    if flow.group or flow.of == '' then return false end
    local jobs = held_of(holders, flow.of) + own.added[0] + own.added[1] + own.added[2]
    return flow_state.wait_behind(own.rates, own.debts, jobs) == 0
  end

  return {
    -- µs until the call of one more job.
    wait = function(group, caller, priority)
      local flow = flow_of(group, caller, priority)
      local own = look_at(flow)
      if not own then return 0 end
      if has_tokens_for_all(own, flow) then return 0 end
      local before = count_before(own, group, caller, flow.rank)
      return flow_state.wait_behind(own.rates, own.debts, before)
    end,

    -- Notes that a job was admitted.
    add = function(group, caller, priority)
      local flow = flow_of(group, caller, priority)
      local own = look_at(flow)
      if own then own.added[flow.rank] = own.added[flow.rank] + 1 end
    end,
  }
end
