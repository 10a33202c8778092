-- Stream kind: what a script sorts in: runs of jobs that wait, of one flow each, until they are written as ranges.
-- needs: constants, now, kind/flow_state, kind/flows, kind/ranges, kind/flow_times

local end_run, note_again, note_new, forget_runs, write_runs
do
  -- What this script has found to wait: { first, last, jobs, flow, whether it waits again }…. And the last of them,
  -- where the next job may join it.
  local runs, open = {}, nil

  function forget_runs()
    runs, open = {}, nil
  end

  function end_run()
    open = nil
  end

  -- After an attempt, or a delay.
  function note_again(id, flow)
    flow.jobs = flow.jobs + 1
    runs[#runs + 1], open = { first = id, last = id, jobs = 1, flow = flow, again = true }, nil
  end

  -- One that nobody has: it waits, or its time has not come. `due` and `deadline` in ms, or nil.
  function note_new(jobs, id, flow, due, deadline)
    if due and due > now_ms and not (deadline and deadline <= now_ms) then
      redis.call('XCLAIM', jobs, GROUP, PARKED_OWNER, '0', id, 'RETRYCOUNT', '0', 'FORCE', 'JUSTID')
      redis.call('ZADD', KEYS[#KEYS - 2], whole(due), id)
      return end_run()
    end
    local noted, rank = flow_state.noted, flow.rank
    flow.jobs, noted[rank] = flow.jobs + 1, noted[rank] + 1
    if open and open.flow == flow then
      open.last, open.jobs = id, open.jobs + 1
    else
      open = { first = id, last = id, jobs = 1, flow = flow }
      runs[#runs + 1] = open
    end
  end

  -- Of `names`, time, name, time …, those that aren't throttled.
  local function without_throttled(names)
    local flows, others = {}, {}
    for i = 2, #names, 2 do flows[i / 2] = names[i] end
    for i, at in ipairs(redis.call('ZMSCORE', flow_state.throttled, unpack(flows))) do
      if not at then others[#others + 1], others[#others + 2] = names[2 * i - 1], names[2 * i] end
    end
    return others
  end

  -- Of the ranges of all runs: number, range, ….
  local function range_words()
    local words = {}
    for i, run in ipairs(runs) do
      words[2 * i - 1] = whole(2 * run.flow.number + (run.again and 0 or 1))
      words[2 * i] = range_of(run.first, run.last, run.jobs)
    end
    return words
  end

  -- Flows that weren't there, in the order in which they came: time, name, …. `before`: how many flows there are.
  local function newcomers(flows, before)
    local words, begin, is_named = {}, {}, {}
    for _, run in ipairs(runs) do
      local flow, rank = run.flow, run.flow.rank
      if not (is_named[flow] or flow.was_there) then
        is_named[flow] = true
        begin[rank] = begin[rank] or begin_of(rank, flows)
        -- A newcomer is behind the one before it, by much less than a call.
        words[#words + 1] = whole(begin[rank] + before + #words / 2)
        words[#words + 1] = flow.name
      end
    end
    return words
  end

  -- Flows that are there keep their times. `flows`: the first ones.
  function write_runs(flows)
    if #runs == 0 then return end
    local before = redis.call('ZCARD', FLOWS)
    local names = newcomers(flows, before)
    redis.call('ZADD', RANGES, unpack(range_words()))
    if #names > 0 and flow_state.is_in_force then names = without_throttled(names) end
    if #names > 0 then
      add_flows(names, before)
      if flow_state.is_in_force then flow_state.note_newcomers() end
    end
    forget_runs()
  end
end
