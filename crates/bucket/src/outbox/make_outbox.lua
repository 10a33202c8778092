-- Returns open_outcome_jobs, for scripts that load it only when the bucket has targets for outcome jobs.
-- needs: outcome_jobs
return open_outcome_jobs
