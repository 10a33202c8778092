-- Stream kind: the state of a job, as the API shows it.
-- needs: constants, now, kind/entry

-- { id, state, failed attempts, due in ms or '', caller, consumer or '', priority or '', group or '' }. `owner`: the
-- consumer for which the job is pending, or nil. A job of PARKED_OWNER that isn't in `parked` waits in a flow; one that
-- somebody claimed by hand is in flight.
local function classify(keys, id, entry, owner)
  local due = redis.call('ZSCORE', keys.parked, id)
  local state = owner and owner ~= PARKED_OWNER and 'in_flight' or due and 'parked' or 'waiting'
  local failures = owner and redis.call('HGET', keys.attempts, id) or 0
  local due_ms = state == 'parked' and due or state == 'waiting' and field(entry, 'due') or ''
  return {
    id, state, tonumber(failures or nil) or 0, due_ms, caller_of(entry) or '', state == 'in_flight' and owner or '',
    field(entry, 'priority') or '', field(entry, 'group') or '',
  }
end
