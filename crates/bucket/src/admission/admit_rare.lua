-- What admit.lua needs of jobs with a key, limits, options, a share or a schedule, and where others wait.
-- needs: mixed, caller_share, once_keys, ticks, rules/check, kind/places, kind/look_at_pending
return {
  takes_turns = takes_turns, open_places = open_places, own_waits_by = own_waits_by, note_mixed = note_mixed,
  open_once_keys = open_once_keys, open_ticks = open_ticks, look_at_pending = look_at_pending,
  holding_of = holding_of, has_its_share = has_its_share, wait_for_share = wait_for_share,
  limit_check = limit_check, limit_charge = limit_charge, limit_states = limit_states, limit_report = limit_report,
}
