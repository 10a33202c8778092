-- Stream kind: which jobs are surely gone.
-- needs: kind/pending

-- A function of an id. Those older than the oldest job that is there; others may be there, and aren't looked for.
local function surely_gone(jobs)
  -- What is pending was delivered, and so is older than what waits; and has its id without its body.
  local oldest = pending_jobs(jobs, '-', '+', 1)[1] or redis.call('XRANGE', jobs, '-', '+', 'COUNT', 1)[1]
  return function(id)
    return not oldest or not string.match(id, '^%d+%-%d+$') or is_after(oldest[1], id)
  end
end
