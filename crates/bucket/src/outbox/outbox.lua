-- Outcome jobs: jobs for other buckets that the end of a job in this bucket submits (on_outcome). The script that ends
-- the job adds them to the stream `outbox` in the slot of this bucket, and hand_over.rs removes each once its target
-- bucket has accepted it. Fields: to, job, ended (ms), depth, outcome (the record with shortened texts). Their number
-- and bytes (in the tally) are bounded: a take leaves room for the outcome jobs of all jobs in flight.
-- needs: now, notices, keep, append_to
-- opens: outbox_maker = make_outbox

-- Like open_outcome_jobs in outcome_jobs.lua. Returns nil if the bucket has no targets for outcome jobs.
local function open_outbox(text, key)
  return string.find(text, '\n', 1, true) and outbox_maker()(text, key) or nil
end
