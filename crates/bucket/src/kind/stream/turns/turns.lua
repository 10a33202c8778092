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

-- Sorts in all that waits, as far as it may be read. Whether that was all. `not_pending`, `waiting_again`: how many
-- jobs aren't pending, and how many are parked without a due time, and so wait again.
local function sort_all(keys, flows, due, most, not_pending, waiting_again)
  join_due(keys, due, most)
  local is_all
  is_all, flows = sort_new(keys, flows, not_pending, waiting_again, SORTING_BYTES)
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

local function hand_out_all_by_turns(
  keys, consumer, want, weights, bounds, flows, due, most, not_pending, waiting_again
)
  flow_state.see_weights(keys, weights)
  local is_all = sort_all(keys, flows, due, most, not_pending, waiting_again)
  local asked = { keys = keys, consumer = consumer, want = want, weights = read_weights(weights), bounds = bounds }
  return open_by_turns()(asked) and is_all
end

-- Whether somebody deleted those who wait, or who are throttled.
local function has_lost()
  return flow_state.has_lost
end

return {
  end_too_large = end_too_large, end_expired = end_expired, open_bounds = open_bounds, has_lost = has_lost,
  first_flows = first_flows, mark_unsorted = mark_unsorted, hand_out_due = hand_out_due, end_flows = end_flows,
  hand_out_by_turns = hand_out_all_by_turns, record_exits = record_exits, make_group = make_group,
}
