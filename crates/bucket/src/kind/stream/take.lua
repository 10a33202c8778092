-- Stream kind: hands out parked jobs that are due, then new ones; by fair queuing if more jobs wait than may be handed
-- out. Parks new jobs that aren't due yet.
-- needs: constants, now, budget, kind/entry, kind/give, kind/unread
-- opens: open_rare = kind/turns

rare.open = open_rare

-- As open_bounds in bounds.lua.
local function bounds_by(pace_key, pace, text, elapsed, asked, undrained)
  if text == '' and not pace.flows then return nil end
  return opened_rare().open_bounds({
    pace_key = pace_key, pace = pace, limits = text, elapsed = elapsed, since = asked, undrained = undrained,
  })
end

-- Records the jobs that have ended.
local function record_ends(keys)
  if rare.opened then rare.opened.record_exits(keys) end
end

local CONTENT_TYPE, VERSION, CALLER = 4, 8, 10

-- The entries of plain jobs by their index in `taken`, and the first of them; and the indices of the values that not
-- all plain jobs have in common.
local function plain_of(taken)
  local plain, first, has_own_type, has_own_caller = {}, nil, false, false
  for i = 1, #taken do
    local job = taken[i]
    local entry = job[2]
    if known_plain[i] or (job[3] or 0) == 0 and not job[4] and plain_size(entry) then
      plain[i], first = entry, first or entry
      if entry[CONTENT_TYPE] ~= first[CONTENT_TYPE] or entry[VERSION] ~= first[VERSION] then has_own_type = true end
      if entry[CALLER] ~= first[CALLER] then has_own_caller = true end
    end
  end
  local own = has_own_type and { CONTENT_TYPE, VERSION } or {}
  if has_own_caller then own[#own + 1] = CALLER end
  return plain, first or {}, own
end

-- Adds jobs to the answer. Plain jobs are sent without field names, and without the values that all have in common.
local function answer_with(answer, taken)
  local plain, first, own = plain_of(taken)
  local last, more = #answer + 4, #own
  answer[last - 3], answer[last - 2] = table.concat(own, ' '), first[CONTENT_TYPE] or ''
  answer[last - 1], answer[last] = first[VERSION] or '', first[CALLER] or ''
  for i = 1, #taken do
    local job, entry = taken[i], plain[i]
    if entry then
      answer[last + 1], answer[last + 2], answer[last + 3] = job[1], entry[2], entry[6]
      last = last + 3
      if more > 0 then
        for j = 1, more do answer[last + j] = entry[own[j]] or '' end
        last = last + more
      end
    else
      answer[last + 1], answer[last + 2], answer[last + 3], answer[last + 4] = job[1], job[2], job[3] or 0, job[4] or 0
      last = last + 4
    end
  end
end

local waiting_keys, count_in_flight, were_all, hand_out
do
  local PARKED, FLOWS = KEYS[#KEYS - 2], KEYS[#KEYS - 1]
  -- Keys that exist only while jobs are parked, or wait in flows.
  waiting_keys = { PARKED, FLOWS }

  -- At the start of the script: whether any of `waiting_keys` may exist; the number of jobs that aren't pending, of
  -- those that belong to PARKED_OWNER without a due time, and so wait again, and of those with one; and { consumer,
  -- number }… of the pending jobs.
  local found = { may_wait = nil, not_pending = nil, waiting_again = nil, with_due_time = nil, consumers = nil }

  function count_in_flight(jobs, is_any_there)
    local pending = redis.pcall('XPENDING', jobs, GROUP)
    if pending.err then
      opened_rare().make_group(jobs)
      pending = { 0 }
    end
    local parked = 0
    for _, consumer in ipairs(pending[4] or {}) do
      if consumer[1] == PARKED_OWNER then parked = tonumber(consumer[2]) end
    end
    level_at_first = redis.call('XLEN', jobs)
    local with_due_time = is_any_there and redis.call('ZCARD', PARKED) or 0
    found.may_wait, found.consumers = is_any_there, pending[4] or {}
    found.not_pending, found.with_due_time = level_at_first - pending[1], with_due_time
    found.waiting_again = parked - with_due_time
    return pending[1] - parked
  end

  -- Whether no job waits after this many were taken. Jobs that somebody deleted by hand may count as pending.
  function were_all(_, jobs)
    return found.not_pending + found.waiting_again + found.with_due_time <= jobs
  end

  -- Parks a new job that isn't due yet, and gives out any other.
  local function park_or_give(keys, id, entry)
    local due_ms, deadline = tonumber(option(entry, 'due')), tonumber(option(entry, 'expires'))
    if not due_ms or due_ms <= now_ms or deadline and deadline <= now_ms then return give(keys, id, entry, false) end
    redis.call('XCLAIM', keys.jobs, GROUP, PARKED_OWNER, '0', id, 'RETRYCOUNT', '0', 'JUSTID')
    redis.call('ZADD', PARKED, whole(due_ms), id)
    count_read(entry)
    put_aside = put_aside + 1
  end

  -- Hands out jobs after the group's last-delivered id, in their order. Returns how many were read, and whether these
  -- were all.
  local function hand_out_new(keys, consumer, want)
    local read = 0
    while goes_on(want) do
      local most = at_once(keys, want)
      local got = redis.call('XREADGROUP', 'GROUP', GROUP, consumer, 'COUNT', whole(most), 'STREAMS', keys.jobs, '>')
      local entries = got and got[1][2] or {}
      local bytes, largest = 0, 0
      for i = 1, #entries do
        local found = entries[i]
        local size = plain_size(found[2])
        if size then
          bytes = bytes + size
          if size > largest then largest = size end
          local place = #taken + 1
          taken[place], known_plain[place] = found, true
        else
          park_or_give(keys, found[1], found[2])
        end
      end
      count_sizes(bytes, largest)
      read = read + #entries
      if #entries < most then return read, true end
    end
    return read, false
  end

  -- Hands out jobs in the order of their admission. Returns whether these were all.
  local function hand_out_in_order(keys, consumer, want, flows, due)
    if #due > 0 then opened_rare().hand_out_due(keys, consumer, want, due) end
    local is_all = #flows == 0 or opened_rare().end_flows(keys, consumer, want, flows)
    local read, is_read = hand_out_new(keys, consumer, want)
    is_all = is_all and is_read
    -- Without flows all waiting jobs are new or due. If there are others, somebody deleted the keys of the flows.
    if is_all and #flows == 0 and (found.not_pending > read or found.waiting_again > 0) then
      opened_rare().mark_unsorted(keys)
      return false
    end
    return is_all
  end

  -- Returns up to `want` jobs { id, fields, failed attempts }…, how many expired and how many died, µs until the next
  -- take, and whether a new job would be taken at once. Ends early, with 0 µs, if enough was read, parked or ended.
  -- `weights`: as text; '' without fair queuing: then jobs of existing flows are handed out first. `bounds`: as
  -- open_bounds makes them; with bounds, all jobs are handed out by fair queuing.
  function hand_out(keys, consumer, want, weights, bounds)
    if rare.opened and not rare.opened.begin(keys, bounds, found.consumers) then
      return taken, expired, rare.died, 0
    end
    if level_at_first == 0 and (keys.pace_found.is_mixed or keys.pace_found.suspects) then
      redis.call('HDEL', keys.pace, 'mixed', 'suspects')
    end
    local takes_turns = weights ~= ''
    -- One more shows whether more are due than may be handed out.
    local most_due = takes_turns and want + 1 or want
    -- `begin` may have created flows.
    local has_flows = (found.may_wait or rare.opened) and redis.call('EXISTS', FLOWS) == 1
    local due = found.with_due_time > 0 and read_due(most_due) or {}
    local flows = has_flows and opened_rare().first_flows(2) or {}
    -- Always with bounds, because the number of waiting jobs isn't reliable: jobs that somebody deleted by hand may
    -- count as pending.
    local others_wait = #flows > 0 or bounds or #due + found.not_pending > want
      and not (found.waiting_again <= 0
        and sole_caller(keys, keys.holders, level_at_first, keys.pace_found.is_mixed))
    local is_all
    if takes_turns and others_wait then
      is_all = opened_rare().hand_out_by_turns({
        keys = keys, consumer = consumer, want = want, weights = weights, bounds = bounds, flows = flows, due = due,
        most_due = most_due, not_pending = found.not_pending, waiting_again = found.waiting_again,
      })
    else
      is_all = hand_out_in_order(keys, consumer, want, flows, due)
    end
    if bounds then bounds.note_there() end
    if not is_all then return taken, expired, rare.died, 0 end
    -- Otherwise `parked` is empty, and the command is saved.
    local may_be_parked = found.with_due_time > 0 or put_aside > 0 or rare.opened
    local wait = may_be_parked and next_due() or math.huge
    return taken, expired, rare.died, bounds and math.min(wait, bounds.next_us()) or wait, true
  end
end
