-- For scripts that open the outbox where there is one: as open_outbox.
-- needs: outcome_jobs
return open_outcome_jobs
