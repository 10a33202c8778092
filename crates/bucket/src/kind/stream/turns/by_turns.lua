-- Stream kind: hands out what waits in flows, in the order of their virtual times.
-- needs: constants, now, budget, kind/entry, kind/held, kind/pending, kind/flows, kind/write_turn, kind/divide
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

  -- What this take does: flows that it reads, those of them that may have more in the order of their times, the time
  -- from which on there are others that it hasn't read; jobs { id, entry, failed attempts, when it became due }…, the
  -- flow of each, and which are plain; ids that aren't claimed yet, and of those the lone ones that aren't read either,
  -- with their flows; whether any of these wasn't there; ranges that go; how many it has found, of all that there are.
  local turn = {
    flows = {}, line = {}, reach = -math.huge, jobs = {}, owners = {}, plain = {}, unclaimed = {}, lone = {},
    lone_owners = {}, has_holes = false, gone = {}, found = 0, ranges = redis.call('ZCARD', RANGES),
  }
  local has_weights = next(weights) ~= nil
  -- Numbers as text, which takes as long to write as a command.
  local texts = { [0] = '0' }

  local function takes_more()
    return goes_on(want) and #turn.gone < MOST_RANGES
  end

  -- `called`: those of the line that have had a call, and come behind most of the others.
  local function line_up(line, called)
    local first = #line
    for i = 1, #called do line[first + i] = called[i] end
    sort_by_time(line)
    turn.line = line
  end

  -- Puts further flows into the line, behind the first `walked`, which are called before any of these.
  local function read_flows(most, walked)
    local flows, read = redis.call('ZRANGE', FLOWS, #turn.flows, #turn.flows + most - 1, 'WITHSCORES'), {}
    for i = 1, #flows, 2 do
      local name = flows[i]
      local space = string.find(name, ' ', 1, true) or 1
      local flow = {
        name = name, number = tonumber(string.sub(name, 1, space - 1)) or -1, at = tonumber(flows[i + 1]),
        weight = has_weights and weights[string.sub(name, space + 1)] or 1, calls = 0, ranges = NONE, seen = 0,
        next = 1,
      }
      flow.rank = flow_state.rank_of(flow)
      turn.flows[#turn.flows + 1] = flow
      if name ~= UNSORTED then read[#read + 1] = flow end
    end
    if bounds then bounds.states.look(read) end
    -- Before those that have had a call: so the line is nearly in order.
    local line, called = {}, {}
    for i = 1, #turn.line do
      local flow = turn.line[i]
      local part = i > walked and flow.calls > 0 and called or line
      part[#part + 1] = flow
    end
    for i = 1, #read do
      local flow = read[i]
      flow.is_full = flow.bound and flow.bound.room < 1
      if not flow.is_full then line[#line + 1] = flow end
    end
    line_up(line, called)
    turn.reach = #flows < 2 * most and math.huge or tonumber(flows[#flows])
  end

  -- The one that a flow is at, where it may have `most` jobs: { text, lone: the id of its only job, or else from, to,
  -- jobs }; nil behind the last, which isn't asked for where all ranges are found already.
  local function range_of_flow(flow, most)
    if flow.range then return flow.range end
    if flow.next > #flow.ranges then
      flow.is_out = turn.found >= turn.ranges
      if flow.is_out then return nil end
      local first, last = whole(2 * flow.number), whole(2 * flow.number + 1)
      -- Mostly a few ranges have as many jobs.
      local seen, ranges = flow.seen, math.ceil(flow.seen == 0 and most / 4 or most)
      texts[seen], texts[ranges] = texts[seen] or whole(seen), texts[ranges] or whole(ranges)
      flow.ranges = redis.call('ZRANGE', RANGES, first, last, 'BYSCORE', 'LIMIT', texts[seen], texts[ranges])
      flow.seen, flow.next, turn.found = flow.seen + #flow.ranges, 1, turn.found + #flow.ranges
      flow.is_out = #flow.ranges == 0
      if flow.is_out then return nil end
    end
    local text = flow.ranges[flow.next]
    flow.next = flow.next + 1
    local lone = lone_job(text)
    if lone then
      flow.range = { text = text, lone = lone }
    else
      -- What somebody else has put there has nothing in it.
      local from, to, jobs = read_range(text)
      flow.range = { text = text, from = from or '1-0', to = to or '0-0', jobs = tonumber(jobs or 0) }
    end
    return flow.range
  end

  local function end_range(flow)
    turn.gone[#turn.gone + 1] = flow.range.text
    flow.range = nil
  end

  -- `calls` below 0: what was charged before had nothing to call.
  local function charge(flow, calls)
    chosen = chosen + calls
    if flow.bound then flow.bound.room = flow.bound.room - calls end
    flow.calls, flow.at = flow.calls + calls, flow.at + calls * UNIT / flow.weight
  end

  local function call(flow, job, is_plain)
    local place = #turn.jobs + 1
    turn.jobs[place], turn.owners[place], turn.plain[place] = job, flow, is_plain
  end

  -- Claims jobs that nobody has, for the first time. As XCLAIM answers them.
  local function claim(ids, option)
    local words = { 'XCLAIM', keys.jobs, GROUP, consumer, NEVER }
    local last = #words
    for i = 1, #ids do words[last + i] = ids[i] end
    last = #words
    words[last + 1], words[last + 2], words[last + 3], words[last + 4] = 'RETRYCOUNT', '1', 'FORCE', option
    return redis.call(unpack(words))
  end

  -- A job that waits again has been claimed before, and its deliveries go on. Whether it may be called.
  local function call_again(flow, id)
    local pending = pending_jobs(keys.jobs, id, id, 1)[1]
    if not pending or pending[2] ~= PARKED_OWNER or redis.call('ZSCORE', PARKED, id) then return false end
    local counted = redis.call('HGET', ATTEMPTS, id)
    local found = redis.call('XCLAIM', keys.jobs, GROUP, consumer, '0', id)[1]
    if not found then
      forget_gone(keys, id, counted)
    elseif is_callable(keys, id, found[2], counted, true) then
      -- When it became due, as keep_due in turns.lua has noted it.
      call(flow, { id, found[2], tonumber(counted or 0), is_traced(found[2]) and now_ms - pending[3] }, false)
      return true
    end
    return false
  end

  -- Reads and claims the lone jobs that were chosen, by one command. One that isn't answered was cancelled, or waits
  -- again.
  local function call_lone()
    if #turn.lone == 0 then return end
    local ids, owners, found, at = turn.lone, turn.lone_owners, claim(turn.lone), 1
    turn.lone, turn.lone_owners = {}, {}
    for i = 1, #ids do
      local id, job, flow, is_called = ids[i], found[at], owners[i], nil
      if job and job[1] == id then
        at = at + 1
        local size = plain_size(job[2])
        if size then count_sizes(size, size) end
        is_called = size or is_callable(keys, id, job[2], false, true)
        if is_called then call(flow, job, size ~= nil) end
      else
        turn.has_holes = true
        is_called = call_again(flow, id)
      end
      if not is_called then charge(flow, -1) end
    end
  end

  -- Whether a new job that isn't plain may be called.
  local function is_new_callable(id, entry)
    local deadline = tonumber(field(entry, 'expires'))
    -- What somebody has doesn't end here.
    local is_ours = not (deadline and deadline <= now_ms) or not owner_of(keys.jobs, id)
    return is_ours and is_callable(keys, id, entry, false, false)
  end

  -- Up to `most` of a flow's new jobs.
  local function call_new(flow, most)
    local range, unclaimed = flow.range, turn.unclaimed
    local found = redis.call('XRANGE', keys.jobs, range.from, range.to, 'COUNT', most)
    local bytes, largest, before = 0, 0, #unclaimed
    for i = 1, #found do
      local job = found[i]
      local size = plain_size(job[2])
      if size then
        bytes = bytes + size
        if size > largest then largest = size end
      end
      if size or is_new_callable(job[1], job[2]) then
        unclaimed[#unclaimed + 1] = job[1]
        call(flow, job, size ~= nil)
      end
    end
    count_sizes(bytes, largest)
    charge(flow, #unclaimed - before)
    if #found < most or found[most][1] == range.to then return end_range(flow) end
    range.from, range.jobs = '(' .. padded(found[most][1]), math.max(1, range.jobs - most)
    range.is_rest = true
  end

  local function serve(flow, share)
    local goal = flow.calls + (flow.bound and math.min(share, flow.bound.room) or share)
    while flow.calls < goal and takes_more() do
      local range = range_of_flow(flow, goal - flow.calls)
      if not range then return end
      if range.lone then
        turn.lone[#turn.lone + 1], turn.lone_owners[#turn.lone_owners + 1] = range.lone, flow
        charge(flow, 1)
        end_range(flow)
        -- The next one of this flow has its turn, and not that of another one.
        if turn.has_holes then call_lone() end
      else
        call_new(flow, math.min(goal - flow.calls, at_once(keys, want)))
      end
    end
  end

  -- Removes flows that have no further job, or are at their limit, from the line, which is in order then.
  local function leave_line()
    local line, called = {}, {}
    for i = 1, #turn.line do
      local flow = turn.line[i]
      if flow.bound then flow.is_full = flow.bound.room < 1 end
      if not flow.is_out and not flow.is_full then
        local part = flow.calls > 0 and called or line
        part[#part + 1] = flow
      end
    end
    line_up(line, called)
  end

  -- The first `most` flows with a job, all of which are called before any that isn't read; and until when another one
  -- isn't called.
  local function first_in_line(most)
    local first, walked, flow = {}, 0, nil
    while #first < most do
      flow = turn.line[walked + 1]
      if flow and flow.at <= turn.reach then
        walked = walked + 1
        if range_of_flow(flow, most / #turn.line) then first[#first + 1] = flow end
      elseif turn.reach < math.huge and #turn.flows < MOST_FLOWS and turn.found < turn.ranges then
        read_flows(math.max(FLOWS_AT_ONCE, most - #first), walked)
      else
        return first, turn.reach
      end
    end
    flow = turn.line[walked + 1]
    return first, flow and math.min(flow.at, turn.reach) or turn.reach
  end

  -- Skips jobs that another consumer has claimed.
  local function claim_chosen()
    local is_missing, claimed = {}, turn.unclaimed
    if #claimed > 0 then claimed = claim(turn.unclaimed, 'JUSTID') end
    if #claimed < #turn.unclaimed then
      for _, id in ipairs(turn.unclaimed) do is_missing[id] = true end
      for _, id in ipairs(claimed) do is_missing[id] = nil end
    end
    local place = #taken
    for i = 1, #turn.jobs do
      local job = turn.jobs[i]
      if not is_missing[job[1]] then
        place = place + 1
        taken[place], known_plain[place] = job, turn.plain[i]
        if bounds then bounds.states.take(turn.owners[i], job[1]) end
      end
    end
    chosen = 0
  end

  -- Flows at their limit that have further jobs. One that has none is at no limit, but out of jobs.
  local function full_flows()
    local full = {}
    if not bounds then return full end
    for _, flow in ipairs(turn.flows) do
      if flow.is_full and range_of_flow(flow, 1) then
        full[#full + 1] = flow
      elseif flow.is_full then
        flow.is_full, flow.is_out = false, true
      end
    end
    return full
  end

  while takes_more() do
    leave_line()
    -- No more at once than surely may be read: what a flow has chosen is charged in the order of the times.
    local most = at_once(keys, want)
    local first, reach = first_in_line(most)
    if #first == 0 then break end
    for i, share in ipairs(divide(first, most, reach)) do
      if share > 0 then serve(first[i], share) end
    end
    call_lone()
  end
  leave_line()
  claim_chosen()
  write_turn(turn, bounds, full_flows())
  return turn.reach == math.huge and #turn.line == 0
end
