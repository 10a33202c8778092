-- Stream kind: what a take needs where jobs are due, callers have to wait for others, or jobs end on their way.
-- needs: budget, record, kind/consumers, kind/due, kind/ends, kind/bounds, kind/sort_in, kind/weights
-- opens: open_by_turns = kind/by_turns

-- How many jobs that are due may join their flows in one script. Reading what is only sorted leaves half of the bytes
-- to what is handed out.
local DUE_AT_ONCE, SORTING_BYTES = 500, BATCH_BYTES / 2

-- In the pending list, from which call_again in calls.lua reads it.
local function keep_due(jobs, id, due_ms)
  redis.call('XCLAIM', jobs, GROUP, PARKED_OWNER, 0, id, 'TIME', whole(math.max(0, due_ms)), 'JUSTID')
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
      if is_traced(found[2]) then keep_due(keys.jobs, id, tonumber(redis.call('ZSCORE', PARKED, id))) end
    else
      forget_gone(keys, id, redis.call('HGET', ATTEMPTS, id))
    end
    joined[#joined + 1] = id
  end
  if #joined > 0 then redis.call('ZREM', PARKED, unpack(joined)) end
end

-- Sorts in all that waits, as far as it may be read. Whether that was all. `asked`: as for hand_out_by_turns.
local function sort_all(asked)
  local keys = asked.keys
  join_due(keys, asked.due, asked.most_due)
  local is_all, flows = sort_new(keys, asked, SORTING_BYTES)
  if flows[1] == UNSORTED then is_all = sort_again(keys, SORTING_BYTES) and is_all end
  write_runs(flows)
  bytes_read, largest_read = 0, 0
  return is_all
end

-- Where nobody takes turns any more, the flows that there are end first. Whether they have.
local function end_flows(keys, consumer, want, flows)
  local is_all = true
  if flows[1] == UNSORTED then
    is_all = sort_again(keys, SORTING_BYTES)
    write_runs(flows)
  end
  return open_by_turns()({ keys = keys, consumer = consumer, want = want, weights = {} }) and is_all
end

-- `asked`: { keys, consumer, want, weights: as text, bounds: as open_bounds makes them, due: the first `most_due` jobs
-- that are due, flows: the first ones, not_pending, waiting_again: how many jobs aren't pending, and how many are
-- parked without a due time, and so wait again }. Whether these were all that wait.
local function hand_out_by_turns(asked)
  flow_state.see_weights(asked.keys, asked.weights)
  local is_all = sort_all(asked)
  asked.weights = read_weights(asked.weights)
  return open_by_turns()(asked) and is_all
end

-- Before a take hands out. `consumers`: { name, … }… of those that have jobs. False: what is in flight isn't all
-- counted yet (bounds_in_force.lua), so it hands out nothing.
local function begin(keys, bounds, consumers)
  if bounds then
    if not bounds.count(keys.jobs, consumers) then return false end
    bounds.bring_back()
  end
  -- Somebody deleted those who wait, or who are throttled.
  if flow_state.has_lost then mark_unsorted(keys) end
  return true
end

return {
  begin = begin, end_too_large = end_too_large, end_expired = end_expired, open_bounds = open_bounds,
  first_flows = first_flows, mark_unsorted = mark_unsorted, hand_out_due = hand_out_due, end_flows = end_flows,
  hand_out_by_turns = hand_out_by_turns, record_exits = record_exits, make_group = make_group,
}
