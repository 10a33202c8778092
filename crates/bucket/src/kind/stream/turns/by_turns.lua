-- Stream kind: hands out what waits in flows, in the order of their virtual times.
-- needs: constants, now, budget, kind/entry, kind/held, kind/pending, kind/flows, kind/begin_again, kind/divide
-- needs: kind/ends, kind/give, kind/due

-- Hands out up to `want` jobs, of each flow at most as many as `bounds` allows (nil: no limit). Whether these were all
-- jobs that wait in flows. (Its functions stand inside it, because Redis creates them again in each call, and Lua
-- allows at most 200 local variables.)
local function hand_out_by_turns(keys, consumer, want, weights, bounds)
  -- How many flows are read at once at least, and how many one script reads; and of how many ranges it looks for jobs,
  -- which somebody may have cancelled.
  local FLOWS_AT_ONCE, MOST_FLOWS, MOST_RANGES, NONE = 16, 256, 1000, {}
  -- In ms, longer than any consumer has had a job: what is claimed after such a time nobody has.
  local NEVER = '1000000000000000'

  -- What this take does: flows that it reads, those of them that may have more, the time from which on there are others
  -- that it hasn't read, jobs { id, entry, failed attempts, when it became due }…, the flow of each, those that aren't
  -- claimed yet, and ranges that go.
  local turn = { flows = {}, line = {}, reach = -math.huge, jobs = {}, owners = {}, unclaimed = {}, gone = {} }

  local function takes_more()
    return goes_on(want) and #turn.gone < MOST_RANGES
  end

  local function read_flows(most)
    local flows, read = redis.call('ZRANGE', FLOWS, #turn.flows, #turn.flows + most - 1, 'WITHSCORES'), {}
    for i = 1, #flows, 2 do
      local number, caller = string.match(flows[i], '^(%d+) (.*)$')
      local flow = {
        name = flows[i], number = tonumber(number or -1), at = tonumber(flows[i + 1]), weight = weights[caller] or 1,
        calls = 0, ranges = NONE, seen = 0, next = 1,
      }
      turn.flows[#turn.flows + 1] = flow
      if flow.name ~= UNSORTED then read[#read + 1] = flow end
    end
    if bounds then bounds.states.look(read) end
    -- Before those that have had a call: so the line is nearly in order.
    local line = {}
    for _, flow in ipairs(read) do
      flow.is_full = flow.bound and flow.bound.room < 1
      if not flow.is_full then line[#line + 1] = flow end
    end
    for _, flow in ipairs(turn.line) do line[#line + 1] = flow end
    turn.line = line
    turn.reach = #flows < 2 * most and math.huge or tonumber(flows[#flows])
  end

  -- How many of the line may have a call before any that isn't read.
  local function within_reach()
    local within = 0
    for _, flow in ipairs(turn.line) do
      if flow.at <= turn.reach then within = within + 1 end
    end
    return within
  end

  -- The one that a flow is at, where it may have `most` jobs: { text, from, to, jobs, whether they are new }; nil
  -- behind the last.
  local function range_of_flow(flow, most)
    if flow.range then return flow.range end
    if flow.next > #flow.ranges then
      local first, last = whole(2 * flow.number), whole(2 * flow.number + 1)
      -- Mostly a few ranges have as many jobs.
      local ranges = flow.seen == 0 and math.ceil(most / 4) or most
      flow.ranges = redis.call('ZRANGE', RANGES, first, last, 'BYSCORE', 'LIMIT', flow.seen, ranges, 'WITHSCORES')
      flow.seen, flow.next = flow.seen + #flow.ranges / 2, 1
    end
    local text, score = flow.ranges[flow.next], flow.ranges[flow.next + 1]
    if not text then return nil end
    flow.next = flow.next + 2
    -- What somebody else has put there has nothing in it.
    local from, to, jobs = read_range(text)
    from, to, jobs = from or '1-0', to or '0-0', tonumber(jobs or 0)
    flow.range = { text = text, from = from, to = to, jobs = jobs, is_new = tonumber(score) % 2 == 1 }
    return flow.range
  end

  local function end_range(flow)
    turn.gone[#turn.gone + 1] = flow.range.text
    flow.range = nil
  end

  local function call(flow, id, entry, failures, due_ms)
    turn.jobs[#turn.jobs + 1], turn.owners[#turn.owners + 1] = { id, entry, failures, due_ms }, flow
    chosen = chosen + 1
    if flow.bound then flow.bound.room = flow.bound.room - 1 end
    flow.calls, flow.at = flow.calls + 1, flow.at + UNIT / flow.weight
  end

  -- A job that waits again has been claimed before, and its deliveries go on.
  local function call_again(flow, id)
    local counted = redis.call('HGET', ATTEMPTS, id)
    local pending = pending_jobs(keys.jobs, id, id, 1)[1]
    local is_there = pending and pending[2] == PARKED_OWNER and not redis.call('ZSCORE', PARKED, id)
    local found = is_there and redis.call('XCLAIM', keys.jobs, GROUP, consumer, '0', id)[1]
    if found then
      if is_callable(keys, id, found[2], counted, true) then
        -- When it became due, as keep_due in turns.lua has noted it.
        call(flow, id, found[2], tonumber(counted or 0), is_traced(found[2]) and now_ms - pending[3])
      end
    elseif is_there then
      forget_gone(keys, id, counted)
    end
  end

  local function call_unclaimed(flow, id, entry)
    turn.unclaimed[#turn.unclaimed + 1] = id
    call(flow, id, entry)
  end

  -- Up to `most` of a flow's new jobs.
  local function call_new(flow, most)
    local range = flow.range
    local found = redis.call('XRANGE', keys.jobs, range.from, range.to, 'COUNT', most)
    for _, job in ipairs(found) do
      local id, entry = job[1], job[2]
      local size = plain_size(entry)
      if size then
        count_sizes(size, size)
        call_unclaimed(flow, id, entry)
      else
        local deadline = tonumber(field(entry, 'expires'))
        -- What somebody has doesn't end here.
        local is_ours = not (deadline and deadline <= now_ms) or not owner_of(keys.jobs, id)
        if is_ours and is_callable(keys, id, entry, false, false) then call_unclaimed(flow, id, entry) end
      end
    end
    if #found < most or found[most][1] == range.to then return end_range(flow) end
    range.from, range.jobs = '(' .. padded(found[most][1]), math.max(1, range.jobs - most)
    range.is_rest = true
  end

  local function serve(flow, share)
    local goal = flow.calls + (flow.bound and math.min(share, flow.bound.room) or share)
    while flow.calls < goal and takes_more() do
      local range = range_of_flow(flow, goal - flow.calls)
      if not range then
        flow.is_out = true
        return
      end
      if range.is_new then
        call_new(flow, math.min(goal - flow.calls, at_once(keys, want)))
      else
        call_again(flow, range.to)
        end_range(flow)
      end
    end
    flow.is_full = flow.bound and flow.bound.room < 1
  end

  -- Removes flows that have no further job, or are at their limit, from the line.
  local function leave_line()
    local line = {}
    for _, flow in ipairs(turn.line) do
      if not flow.is_out and not flow.is_full then line[#line + 1] = flow end
    end
    turn.line = line
  end

  -- Whether each of the ids was claimed; nil: all were.
  local function claim(ids)
    local words = { 'XCLAIM', keys.jobs, GROUP, consumer, NEVER }
    for _, id in ipairs(ids) do words[#words + 1] = id end
    for _, word in ipairs({ 'RETRYCOUNT', 1, 'FORCE', 'JUSTID' }) do words[#words + 1] = word end
    local got = redis.call(unpack(words))
    if #got == #ids then return nil end
    local is_claimed = {}
    for _, id in ipairs(ids) do is_claimed[id] = false end
    for _, id in ipairs(got) do is_claimed[id] = true end
    return is_claimed
  end

  -- Skips jobs that another consumer has claimed.
  local function claim_chosen()
    local is_claimed = #turn.unclaimed > 0 and claim(turn.unclaimed)
    for i, job in ipairs(turn.jobs) do
      if not is_claimed or is_claimed[job[1]] ~= false then
        taken[#taken + 1] = job
        if turn.owners[i].bound then bounds.states.take(turn.owners[i], job[1]) end
      end
    end
    chosen = 0
  end

  -- Of those that still wait, of each rank, the time of the first.
  local function first_times()
    local times = {}
    for _, flow in ipairs(turn.line) do
      local rank = flow_state.rank_of(flow)
      times[rank] = math.min(times[rank] or flow.at, flow.at)
    end
    return times
  end

  -- Of each rank, when its last call began: newcomers begin there (flows.lua). It is known while somebody waits.
  local function note_called()
    if turn.reach == math.huge and #turn.line == 0 then return forget_called() end
    local called, words = {}, {}
    for _, flow in ipairs(turn.flows) do
      if flow.calls > 0 and flow.name ~= UNSORTED then
        local rank, began = flow_state.rank_of(flow), flow.at - UNIT / flow.weight
        called[rank] = math.max(called[rank] or began, began)
      end
    end
    for rank, began in pairs(called) do
      words[#words + 1], words[#words + 2] = 'called' .. rank, whole(began)
    end
    if #words > 0 then redis.call('HSET', flow_state.hash, unpack(words)) end
  end

  -- What was called is charged; a flow that had nothing leaves. One that had less than its share has saved nothing up
  -- for later: it goes on where the first one is. Where nobody waits, nobody has kept another one waiting.
  local function write_turn()
    local charged, away, out, rests, first = {}, {}, {}, {}, first_times()
    note_called()
    for _, flow in ipairs(turn.flows) do
      if flow.is_full and range_of_flow(flow, 1) then
        out[#out + 1] = flow
        away[#away + 1] = flow.name
      elseif flow.calls > 0 and not flow.is_out and not flow.is_full then
        charged[#charged + 1], charged[#charged + 2] = whole(flow.at), flow.name
      elseif flow.calls > 0 and first[flow_state.rank_of(flow)] then
        local at = math.max(flow.at, first[flow_state.rank_of(flow)])
        charged[#charged + 1], charged[#charged + 2] = whole(at), flow.name
      elseif flow.is_out or flow.is_full then
        away[#away + 1] = flow.name
      end
      local range = flow.range
      if range and range.is_rest then
        turn.gone[#turn.gone + 1] = range.text
        rests[#rests + 1] = whole(2 * flow.number + 1)
        rests[#rests + 1] = range.from .. ' ' .. range.to .. ' ' .. range.jobs
      end
    end
    if #turn.gone > 0 then redis.call('ZREM', RANGES, unpack(turn.gone)) end
    if #rests > 0 then redis.call('ZADD', RANGES, unpack(rests)) end
    if #charged > 0 then redis.call('ZADD', FLOWS, unpack(charged)) end
    if #away > 0 then redis.call('ZREM', FLOWS, unpack(away)) end
    if #out > 0 then bounds.states.put_out(out) end
    begin_again_if_late(charged)
    if bounds then bounds.states.write() end
  end

  while takes_more() do
    -- No more at once than surely may be read: what a flow has chosen is charged in the order of the times.
    local most = at_once(keys, want)
    local within = within_reach()
    if within < most and turn.reach < math.huge and #turn.flows < MOST_FLOWS then
      read_flows(math.max(FLOWS_AT_ONCE, most))
    elseif within == 0 then
      break
    end
    if #turn.line > 0 then
      sort_by_time(turn.line)
      for i, share in ipairs(divide(turn.line, most, turn.reach)) do
        if share > 0 then serve(turn.line[i], share) end
      end
      leave_line()
    end
  end
  claim_chosen()
  write_turn()
  return turn.reach == math.huge and #turn.line == 0
end
