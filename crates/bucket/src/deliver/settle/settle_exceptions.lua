-- Functions to settle with dead letters, a throttle, an adaptive rate, or limits per caller.
-- needs: bury, throttle, adapt, kind/entry, kind/leave_flows

local function read_letter(keys, job, outcome, reason, attempt)
  check_letters(keys)
  return letter_of(job, entry_of(keys.jobs, job), outcome, reason, attempt)
end

return {
  read_letter = read_letter, add_letter = add_letter, bury_or_keep = bury_or_keep, throttle = throttle, adapt = adapt,
  leave_flows = leave_flows,
}
