-- Stream kind: functions of a take for jobs that are due, for fair queuing, and for jobs that end.
-- needs: budget, record, kind/consumers, kind/due, kind/ends, kind/bounds, kind/sort_in, kind/weights
-- opens: open_by_turns = kind/by_turns

-- The maximum of due jobs that join their flows in one script, and the bytes that may be read to sort jobs: half of
-- all, so that the rest is left for jobs that are handed out.
local DUE_AT_ONCE, SORTING_BYTES = 500, BATCH_BYTES / 2

-- Stores when a job became due in the pending list, from which call_again in calls.lua reads it.
local function keep_due(jobs, id, due_ms)
  redis.call('XCLAIM', jobs, GROUP, PARKED_OWNER, 0, id, 'TIME', whole(math.max(0, due_ms)), 'JUSTID')
end

-- Adds due jobs to their flows, as many as may be read. `due`: the first `most` of them.
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

-- Sorts in all waiting jobs, as far as they may be read. Returns whether these were all. `asked`: as for
-- hand_out_by_turns.
local function sort_all(asked)
  local keys = asked.keys
  join_due(keys, asked.due, asked.most_due)
  local is_all, flows = sort_new(keys, asked, SORTING_BYTES)
  if flows[1] == UNSORTED then is_all = sort_again(keys, SORTING_BYTES) and is_all end
  write_runs(flows)
  bytes_read, largest_read = 0, 0
  return is_all
end

-- Hands out the jobs of existing flows after fair queuing was turned off. Returns whether no flow is left.
local function end_flows(keys, consumer, want, flows)
  local is_all = true
  if flows[1] == UNSORTED then
    is_all = sort_again(keys, SORTING_BYTES)
    write_runs(flows)
  end
  return open_by_turns()({ keys = keys, consumer = consumer, want = want, weights = {} }) and is_all
end

-- Hands out jobs by fair queuing. `asked`: { keys, consumer, want, weights: as text, bounds: from open_bounds, due: the
-- first `most_due` jobs that are due, flows: the first ones, not_pending: number of jobs that aren't pending,
-- waiting_again: number of pending jobs that wait again }. Returns whether these were all waiting jobs.
local function hand_out_by_turns(asked)
  flow_state.see_weights(asked.keys, asked.weights)
  local is_all = sort_all(asked)
  asked.weights = read_weights(asked.weights)
  return open_by_turns()(asked) and is_all
end

-- Called before a take hands out jobs. `consumers`: { name, … }… with pending jobs. Returns false if not all calls in
-- flight are counted yet (bounds_in_force.lua), so that the take must hand out nothing.
local function begin(keys, bounds, consumers)
  if bounds then
    if not bounds.count(keys.jobs, consumers) then return false end
    bounds.unthrottle()
  end
  -- Somebody deleted `flows` or `throttled`.
  if flow_state.has_lost then mark_unsorted(keys) end
  return true
end

return {
  begin = begin, end_too_large = end_too_large, end_expired = end_expired, open_bounds = open_bounds,
  first_flows = first_flows, mark_unsorted = mark_unsorted, hand_out_due = hand_out_due, end_flows = end_flows,
  hand_out_by_turns = hand_out_by_turns, record_exits = record_exits, make_group = make_group,
}
