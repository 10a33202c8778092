-- Stream kind: which jobs certainly no longer exist.
-- needs: kind/pending

-- Returns a function of an id: true if the job is older than the oldest one in the bucket. Others aren't looked up.
local function surely_gone(jobs)
  local oldest = redis.call('XRANGE', jobs, '-', '+', 'COUNT', 1)[1]
  -- A job that somebody deleted by hand while it was in flight isn't gone: its replica will report its end.
  local pending = pending_jobs(jobs, '-', '+', 1)[1]
  if not oldest or pending and is_after(oldest[1], pending[1]) then oldest = pending end
  return function(id)
    return not oldest or not string.match(id, '^%d+%-%d+$') or is_after(oldest[1], id)
  end
end
