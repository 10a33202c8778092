-- Stream kind: collects waiting jobs as runs, each of one flow, and writes them as ranges.
-- needs: constants, now, kind/flow_state, kind/flows, kind/ranges, kind/flow_times

local end_run, note_again, note_new, forget_runs, write_runs
do
  -- The runs of this script: { first, last, jobs, flow, again: whether it waits again }…; and the last run, if the next
  -- job may be added to it.
  local runs, open = {}, nil

  function forget_runs()
    runs, open = {}, nil
  end

  function end_run()
    open = nil
  end

  -- Adds a job that waits again after an attempt or a delay.
  function note_again(id, flow)
    flow.jobs = flow.jobs + 1
    runs[#runs + 1], open = { first = id, last = id, jobs = 1, flow = flow, again = true }, nil
  end

  -- Adds a new job, or parks it if it isn't due yet. `due` and `deadline`: in ms, or nil.
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

  -- The flows of `names` (time, name, …) that aren't throttled.
  local function without_throttled(names)
    local flows, others = {}, {}
    for i = 2, #names, 2 do flows[i / 2] = names[i] end
    for i, at in ipairs(redis.call('ZMSCORE', flow_state.throttled, unpack(flows))) do
      if not at then others[#others + 1], others[#others + 2] = names[2 * i - 1], names[2 * i] end
    end
    return others
  end

  -- The ranges of all runs as arguments of ZADD: score, range, ….
  local function range_words()
    local words = {}
    for i, run in ipairs(runs) do
      words[2 * i - 1] = whole(2 * run.flow.number + (run.again and 0 or 1))
      words[2 * i] = range_of(run.first, run.last, run.jobs)
    end
    return words
  end

  -- The flows of runs that may be new, in the order of their first jobs: time, name, …. `before`: number of flows.
  local function newcomers(flows, before)
    local words, begin, is_named = {}, {}, {}
    for _, run in ipairs(runs) do
      local flow, rank = run.flow, run.flow.rank
      if not (is_named[flow] or flow.was_there) then
        is_named[flow] = true
        begin[rank] = begin[rank] or begin_of(rank, flows)
        -- Each newcomer comes after the one before it, by much less than a call.
        words[#words + 1] = whole(begin[rank] + before + #words / 2)
        words[#words + 1] = flow.name
      end
    end
    return words
  end

  -- Writes all runs. Existing flows keep their times. `flows`: the first ones.
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
