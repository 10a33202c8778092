-- List kind: which jobs are surely gone.
-- needs: kind/jobs

-- A function of an id. All of them when nothing is in the bucket: a list can't be asked for a job.
local function surely_gone(jobs)
  local level = count_jobs(jobs)
  return function() return level == 0 end
end
