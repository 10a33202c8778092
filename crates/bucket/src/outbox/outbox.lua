-- Outcome jobs: what other buckets are given for the ends of jobs here (on_outcome). Each waits in the stream `outbox`,
-- in the slot of this bucket, from the script that ends its job until the other bucket has accepted it (hand_over.rs).
-- Fields: to, job, ended (ms), depth, outcome (the record, its texts cut). Bounded by number and bytes, which the tally
-- counts: a take leaves room for all that is in flight.
-- needs: now, notices, keep, append_to
-- opens: outbox_maker = make_outbox

-- As open_outcome_jobs in outcome_jobs.lua; nil where no end goes anywhere.
local function open_outbox(text, key)
  return string.find(text, '\n', 1, true) and outbox_maker()(text, key) or nil
end
