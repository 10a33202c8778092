-- Stream kind: parked jobs that are due first, then new ones; by turns where somebody has to wait for others. One whose
-- time has not come is parked on the way.
-- needs: now, budget, keep, outbox, record, kind/entry, kind/held, kind/sort_in, kind/give, kind/weights, kind/by_turns

-- All else stays inside: a script has no room for more than 200 names.
local count_in_flight, hand_out
do
  -- How many jobs that are due may join their flows in one script. Reading what is only sorted leaves half of the bytes
  -- to what is handed out.
  local DUE_AT_ONCE, SORTING_BYTES = 500, BATCH_BYTES / 2

  -- As the script found them: jobs that aren't pending, and jobs that are parked without a due time, and so wait again.
  local not_pending, waiting_again, consumers

  function count_in_flight(jobs)
    local pending = redis.pcall('XPENDING', jobs, GROUP)
    if pending.err then
      make_group(jobs)
      pending = { 0 }
    end
    local parked = 0
    for _, consumer in ipairs(pending[4] or {}) do
      if consumer[1] == PARKED_OWNER then parked = tonumber(consumer[2]) end
    end
    level_at_first = redis.call('XLEN', jobs)
    not_pending = level_at_first - pending[1]
    waiting_again = parked - redis.call('ZCARD', PARKED)
    consumers = pending[4] or {}
    return pending[1] - parked
  end

  -- µs until a parked job is due.
  local function next_due()
    local first = redis.call('ZRANGE', PARKED, 0, 0, 'WITHSCORES')
    return first[2] and math.max(0, first[2] * 1000 - now_us) or math.huge
  end

  local function read_due(most)
    return redis.call('ZRANGE', PARKED, '-inf', whole(now_ms), 'BYSCORE', 'LIMIT', 0, most)
  end

  -- Jobs that were to be buried while nothing could be (hash unburied, job id → its record) are parked and due. Buries
  -- those among the jobs that are due, as far as there is room. The others, and how many have left the bucket.
  local function bury_due(keys, due)
    if #due == 0 or redis.call('HLEN', UNBURIED) == 0 then return due, 0 end
    local records = redis.call('HMGET', UNBURIED, unpack(due))
    local others, buried = {}, 0
    for i, id in ipairs(due) do
      if not records[i] then
        others[#others + 1] = id
      elseif may_read() and #taken + expired + put_aside + buried < outcome_room and not dead_is_full(keys) then
        local reason = cjson.decode(records[i]).reason
        local letter = letter_of(id, entry_of(keys.jobs, id), records[i], type(reason) == 'string' and reason or '')
        count_read(letter.fields)
        redis.call('ZREM', PARKED, id)
        bury(keys, letter)
        buried = buried + 1
      end
    end
    put_aside = put_aside + buried
    return others, buried
  end

  local function claim_due(keys, consumer, want, due)
    local counted = redis.call('HMGET', ATTEMPTS, unpack(due))
    local first = 1
    while first <= #due and goes_on(want) do
      local last, entries = math.min(#due, first + at_once(keys, want) - 1), {}
      for _, entry in ipairs(redis.call('XCLAIM', keys.jobs, GROUP, consumer, 0, unpack(due, first, last))) do
        if entry then entries[entry[1]] = entry[2] end
      end
      for i = first, last do
        local id = due[i]
        if entries[id] then
          give(keys, id, entries[id], counted[i])
        else
          forget_gone(keys, id, counted[i])
        end
      end
      first = last + 1
    end
    redis.call('ZREM', PARKED, unpack(due, 1, first - 1))
  end

  local function hand_out_due(keys, consumer, want, due)
    local most = want
    while true do
      local others, buried = bury_due(keys, due)
      if #others > 0 and goes_on(want) then claim_due(keys, consumer, want, others) end
      -- What can't be buried now stays where it is.
      if #due < most or #others + buried < #due or not goes_on(want) then return end
      most = want - #taken
      due = read_due(most)
    end
  end

  -- What was delivered to nobody, in its order. How many that were, and whether these were all.
  local function hand_out_new(keys, consumer, want)
    local read = 0
    while goes_on(want) do
      local most = at_once(keys, want)
      local got = redis.call('XREADGROUP', 'GROUP', GROUP, consumer, 'COUNT', most, 'STREAMS', keys.jobs, '>')
      local entries = got and got[1][2] or {}
      for _, found in ipairs(entries) do
        local id, entry = found[1], found[2]
        local due_ms, deadline = tonumber(field(entry, 'due')), tonumber(field(entry, 'expires'))
        if due_ms and due_ms > now_ms and not (deadline and deadline <= now_ms) then
          redis.call('XCLAIM', keys.jobs, GROUP, PARKED_OWNER, 0, id, 'RETRYCOUNT', 0, 'JUSTID')
          redis.call('ZADD', PARKED, whole(due_ms), id)
          count_read(entry)
          put_aside = put_aside + 1
        else
          give(keys, id, entry, false)
        end
      end
      read = read + #entries
      if #entries < most then return read, true end
    end
    return read, false
  end

  -- Joins the jobs that are due to their flows, as many as may be read. `due`: the first `most` of them.
  local function join_due(keys, due, most)
    if #due == most then due = read_due(DUE_AT_ONCE) end
    local joined = {}
    for _, id in ipairs((bury_due(keys, due))) do
      if bytes_read >= SORTING_BYTES then break end
      local found = redis.call('XRANGE', keys.jobs, id, id)[1]
      if found then
        count_read(found[2])
        note_again(id, flow_of_entry(found[2]))
      else
        forget_gone(keys, id, redis.call('HGET', ATTEMPTS, id))
      end
      joined[#joined + 1] = id
    end
    if #joined > 0 then redis.call('ZREM', PARKED, unpack(joined)) end
  end

  -- Sorts in all that waits, as far as it may be read. Whether that was all.
  local function sort_all(keys, flows, due, most)
    join_due(keys, due, most)
    local is_all
    is_all, flows = sort_new(keys, flows, not_pending, waiting_again, SORTING_BYTES)
    if flows[1] == UNSORTED then is_all = sort_again(keys, SORTING_BYTES) and is_all end
    write_runs(flows)
    bytes_read, largest_read = 0, 0
    return is_all
  end

  -- Up to `want` jobs { id, fields, failed attempts }…, how many expired on the way, µs until it is worth asking
  -- again, and whether a new entry would be taken at once. A call ends early when it has read enough, or put
  -- enough aside: then it is worth asking again at once. `weights`: as text, '' where nobody takes turns: then the
  -- flows that there are end first. `bounds` as open_bounds makes them: then nobody is called but by turns.
  function hand_out(keys, consumer, want, weights, bounds)
    if bounds then
      if not bounds.count(keys.jobs, consumers) then return taken, expired, 0 end
      bounds.bring_back()
    end
    if flow_state.has_lost then mark_unsorted(keys) end
    local takes_turns = weights ~= ''
    -- Whether there are more is known by one more.
    local most_due = takes_turns and want + 1 or want
    local flows, due = first_flows(2), read_due(most_due)
    local has_flows, is_all = #flows > 0, true
    -- Where some are bounded nobody is called but by turns: what somebody deleted by hand still counts as pending, so
    -- that fewer seem to wait than do.
    if takes_turns and (has_flows or bounds or #due + not_pending > want) then
      flow_state.see_weights(keys, weights)
      is_all = sort_all(keys, flows, due, most_due)
      is_all = hand_out_by_turns(keys, consumer, want, read_weights(weights), bounds) and is_all
    else
      hand_out_due(keys, consumer, want, due)
      if has_flows then
        if flows[1] == UNSORTED then
          is_all = sort_again(keys, SORTING_BYTES)
          write_runs(flows)
        end
        is_all = hand_out_by_turns(keys, consumer, want, {}) and is_all
      end
      local read, is_read = hand_out_new(keys, consumer, want)
      is_all = is_all and is_read
      -- With no flow all that waits is new, or was due: somebody deleted the keys.
      if is_all and not has_flows and (not_pending > read or waiting_again > 0) then
        mark_unsorted(keys)
        is_all = false
      end
    end
    if bounds then bounds.note_there() end
    if not is_all then return taken, expired, 0 end
    return taken, expired, math.min(next_due(), bounds and bounds.next_us() or math.huge), true
  end
end
