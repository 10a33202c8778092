-- Stream kind: chooses and claims jobs of flows (by_turns.lua).
-- needs: constants, now, budget, kind/entry, kind/held, kind/pending, kind/flows, kind/ends, kind/give, kind/due
-- needs: kind/flow_ranges, kind/suspects

local choose_lone, call_lone, call_new, claim_chosen
do
  -- A minimum idle time for XCLAIM, in ms, that no pending job has: so jobs of other consumers aren't claimed.
  local NEVER = '1000000000000000'

  -- A negative `calls` takes back a charge, if the job couldn't be called.
  local function charge(flow, calls)
    chosen = chosen + calls
    if flow.bound then flow.bound.room = flow.bound.room - calls end
    flow.calls, flow.at = flow.calls + calls, flow.at + calls * UNIT / flow.weight
  end

  local function call(turn, flow, job, is_plain)
    local place = #turn.jobs + 1
    turn.jobs[place], turn.owners[place], turn.plain[place] = job, flow, is_plain
  end

  -- Claims new jobs. Returns the answer of XCLAIM.
  local function claim(turn, ids, option)
    local words = { 'XCLAIM', turn.keys.jobs, GROUP, turn.consumer, NEVER }
    local last = #words
    for i = 1, #ids do words[last + i] = ids[i] end
    last = #words
    words[last + 1], words[last + 2], words[last + 3], words[last + 4] = 'RETRYCOUNT', '1', 'FORCE', option
    return redis.call(unpack(words))
  end

  -- Chooses the only job of the flow's current range. It is read later, together with others.
  function choose_lone(turn, flow)
    turn.lone[#turn.lone + 1], turn.lone_owners[#turn.lone_owners + 1] = flow.range.lone, flow
    charge(flow, 1)
    end_range(turn, flow)
  end

  -- Adds a lone job that was claimed. Returns whether it may be called.
  local function call_claimed(turn, flow, job)
    local size = plain_size(job[2])
    if size then
      count_sizes(size, size)
    elseif not is_callable(turn.keys, job[1], job[2], false, true) then
      return false
    end
    call(turn, flow, job, size ~= nil)
    return true
  end

  -- Claims and adds a job that waits again, and keeps its delivery count. Returns whether it may be called.
  local function call_again(turn, flow, id)
    local keys = turn.keys
    local pending = pending_jobs(keys.jobs, id, id, 1)[1]
    if not pending or pending[2] ~= PARKED_OWNER or redis.call('ZSCORE', PARKED, id) then return false end
    if keys.pace_found.suspects and not may_hand_out(keys, turn.consumer, id, pending[4]) then return false end
    local counted = redis.call('HGET', ATTEMPTS, id)
    local found = redis.call('XCLAIM', keys.jobs, GROUP, turn.consumer, '0', id)[1]
    if not found then
      forget_gone(keys, id, counted)
    elseif is_callable(keys, id, found[2], counted, true) then
      -- When it became due, as keep_due in turns.lua has noted it.
      local failures, due_ms = tonumber(counted or nil) or 0, is_traced(found[2]) and now_ms - pending[3]
      call(turn, flow, { id, found[2], failures, due_ms }, false)
      return true
    end
    return false
  end

  -- Reads and claims the chosen lone jobs by one command. A job that isn't in the answer was cancelled, or waits again.
  function call_lone(turn)
    if #turn.lone == 0 then return end
    local ids, owners, found, at = turn.lone, turn.lone_owners, claim(turn, turn.lone), 1
    turn.lone, turn.lone_owners = {}, {}
    for i = 1, #ids do
      local job, is_called = found[at], nil
      if job and job[1] == ids[i] then
        at, is_called = at + 1, call_claimed(turn, owners[i], job)
      else
        turn.has_holes = true
        is_called = call_again(turn, owners[i], ids[i])
      end
      if not is_called then charge(owners[i], -1) end
    end
  end

  -- Whether a new job that isn't plain may be called.
  local function is_new_callable(keys, id, entry)
    local deadline = tonumber(field(entry, 'expires'))
    -- A job that somebody has claimed by hand isn't expired here.
    local is_ours = not (deadline and deadline <= now_ms) or not owner_of(keys.jobs, id)
    return is_ours and is_callable(keys, id, entry, false, false)
  end

  -- Adds up to `most` new jobs of the flow's current range. They are claimed later, together with those of other flows.
  function call_new(turn, flow, most)
    local keys, range, unclaimed = turn.keys, flow.range, turn.unclaimed
    local found = redis.call('XRANGE', keys.jobs, range.from, range.to, 'COUNT', most)
    local bytes, largest, before = 0, 0, #unclaimed
    for i = 1, #found do
      local job = found[i]
      local size = plain_size(job[2])
      if size then
        bytes = bytes + size
        if size > largest then largest = size end
      end
      if size or is_new_callable(keys, job[1], job[2]) then
        unclaimed[#unclaimed + 1] = job[1]
        call(turn, flow, job, size ~= nil)
      end
    end
    count_sizes(bytes, largest)
    charge(flow, #unclaimed - before)
    local last = found[most] and found[most][1]
    if not last or last == range.to then return end_range(turn, flow) end
    keep_rest(range, last, most)
  end

  -- Claims the new jobs. Returns by id those that couldn't be claimed, because another consumer has them.
  local function claim_new(turn)
    local unclaimed, is_missing = turn.unclaimed, {}
    local claimed = #unclaimed > 0 and claim(turn, unclaimed, 'JUSTID') or unclaimed
    if #claimed < #unclaimed then
      for _, id in ipairs(unclaimed) do is_missing[id] = true end
      for _, id in ipairs(claimed) do is_missing[id] = nil end
    end
    return is_missing
  end

  -- Hands out the chosen jobs, except those that another consumer has.
  function claim_chosen(turn)
    local is_missing, place = claim_new(turn), #taken
    for i = 1, #turn.jobs do
      local job = turn.jobs[i]
      if not is_missing[job[1]] then
        place = place + 1
        taken[place], known_plain[place] = job, turn.plain[i]
        if turn.states then turn.states.take(turn.owners[i], job[1]) end
      end
    end
    chosen = 0
  end
end
