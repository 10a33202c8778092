-- Stream kind: sorts waiting jobs into flows.
-- needs: constants, now, budget, kind/pending, kind/unread, kind/flow_state, kind/flows, kind/ranges
-- needs: kind/flow_times, kind/runs

-- All else is local to the block: Lua allows 200 local variables.
local mark_unsorted, sort_new, sort_again, sort_sole
do
  local PARKED = KEYS[#KEYS - 2]

  -- The maximum of jobs that one script sorts in, and that it sorts in again.
  local SORTED_AT_ONCE, LOOKED_AT_ONCE = 200, 100

  local function note_entry(keys, id, entry)
    note_new(keys.jobs, id, flow_of_entry(entry), tonumber(field(entry, 'due')), tonumber(field(entry, 'expires')))
  end

  -- Reads jobs after the group's last-delivered id and advances that, without making them pending.
  local function pass_new(jobs, most)
    return redis.pcall('XREADGROUP', 'GROUP', GROUP, PARKED_OWNER, 'COUNT', most, 'NOACK', 'STREAMS', jobs, '>')
  end

  -- Sorts in jobs after the last-delivered id, up to `bytes`. Returns their number, and whether these were all.
  local function sort_in(keys, bytes)
    local read, most, largest = 0, 1, nil
    repeat
      local got = pass_new(keys.jobs, most)
      if got and got.err then
        -- The first replica hasn't created the group yet.
        redis.call('XGROUP', 'CREATE', keys.jobs, GROUP, '0', 'MKSTREAM')
        got = pass_new(keys.jobs, most)
      end
      local entries = got and got[1][2] or {}
      for _, found in ipairs(entries) do
        count_read(found[2])
        note_entry(keys, found[1], found[2])
      end
      read = read + #entries
      if #entries < most then return read, true end
      largest = largest or largest_entry(keys, redis.call('XLEN', keys.jobs)) or math.huge
      most = math.max(1, math.min(math.floor((bytes - bytes_read) / largest), SORTED_AT_ONCE - read))
    until read >= SORTED_AT_ONCE or bytes_read >= bytes
    return read, false
  end

  -- Called after somebody deleted the keys: all jobs up to the last-delivered id must be sorted in again.
  function mark_unsorted(keys)
    forget_runs()
    redis.call('DEL', FLOWS, RANGES, flow_state.throttled)
    redis.call('HDEL', flow_state.hash, 'there', 'came')
    redis.call('ZADD', RANGES, 1, '0-0 ' .. last_delivered(keys.jobs) .. ' 0')
    redis.call('ZADD', FLOWS, '-inf', UNSORTED)
  end

  -- Sorts in new jobs, until it has read `bytes`. `before`: { flows: the first ones, not_pending: number of jobs that
  -- aren't pending, waiting_again: number of pending jobs that wait again }. Without flows these must all be new;
  -- otherwise the keys were deleted. Returns whether no new job is left, and the first flows.
  function sort_new(keys, before, bytes)
    local flows, read, is_all = before.flows, sort_in(keys, bytes)
    local are_all_new = before.not_pending <= read and before.waiting_again <= 0
    if #flows > 0 or not is_all or are_all_new then return is_all, flows end
    -- The others may be jobs of throttled flows, if `flows` was empty before.
    local are_sorted = redis.call('ZCARD', flow_state.throttled) > 0 and redis.call('ZCARD', RANGES) > 0
    if are_sorted and not flow_state.were_there() then return is_all, flows end
    mark_unsorted(keys)
    return is_all, first_flows(2)
  end

  -- Sorts in all jobs after the last-delivered id as one range, without reading them: `jobs` jobs of one caller without
  -- delays. Only if no job was sorted in before.
  function sort_sole(keys, caller, jobs)
    local delivered = last_delivered(keys.jobs)
    -- The first replica hasn't created the group yet.
    if not delivered then redis.call('XGROUP', 'CREATE', keys.jobs, GROUP, '0', 'MKSTREAM') end
    local first = first_entry(keys.jobs, delivered and '(' .. delivered or '-', '+')
    if not first then return end
    local last, flow = redis.call('XREVRANGE', keys.jobs, '+', '-', 'COUNT', 1)[1], flow_of(nil, caller)
    redis.call('XGROUP', 'SETID', keys.jobs, GROUP, last[1])
    redis.call('ZADD', RANGES, whole(2 * flow.number + 1), range_of(first[1], last[1], jobs))
    redis.call('ZADD', FLOWS, begin_of(flow.rank, {}), flow.name)
  end

  local function sort_one_again(keys, id, entry)
    local owner = owner_of(keys.jobs, id)
    if not owner then return note_entry(keys, id, entry) end
    end_run()
    if owner ~= PARKED_OWNER or redis.call('ZSCORE', PARKED, id) then return end
    local due = tonumber(field(entry, 'due'))
    if due and due > now_ms then
      redis.call('ZADD', PARKED, whole(due), id)
    else
      note_again(id, flow_of_entry(entry))
    end
  end

  -- Sorts in a part of the unsorted jobs, until it has read `bytes`. Returns whether these were all.
  function sort_again(keys, bytes)
    -- These jobs come before those of the last run in the stream.
    end_run()
    local range = redis.call('ZRANGE', RANGES, 1, 1, 'BYSCORE', 'LIMIT', 0, 1)[1]
    local from, to = read_range(range or '')
    local looked_at, found = 0, from
    while found and looked_at < LOOKED_AT_ONCE and bytes_read < bytes do
      found = first_entry(keys.jobs, from, to)
      if found then
        count_read(found[2])
        sort_one_again(keys, found[1], found[2])
        from, looked_at = '(' .. found[1], looked_at + 1
      end
    end
    if range then redis.call('ZREM', RANGES, range) end
    if found then
      redis.call('ZADD', RANGES, 1, from .. ' ' .. to .. ' 0')
    else
      redis.call('ZREM', FLOWS, UNSORTED)
    end
    return not found
  end
end
