-- List kind: which jobs certainly no longer exist.
-- needs: kind/jobs

-- Returns a function of an id: true if the bucket is empty. Otherwise it isn't known without a search of the list.
local function surely_gone(jobs)
  local level = count_jobs(jobs)
  return function() return level == 0 end
end
