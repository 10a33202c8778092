-- Stream kind: which jobs are surely gone.
-- needs: kind/pending

-- A function of an id. Those older than the oldest job that is there; others may be there, and aren't looked for.
local function surely_gone(jobs)
  local oldest = redis.call('XRANGE', jobs, '-', '+', 'COUNT', 1)[1]
  -- One that was deleted by hand while a replica had it, which will report its end.
  local pending = pending_jobs(jobs, '-', '+', 1)[1]
  if not oldest or pending and is_after(oldest[1], pending[1]) then oldest = pending end
  return function(id)
    return not oldest or not string.match(id, '^%d+%-%d+$') or is_after(oldest[1], id)
  end
end
