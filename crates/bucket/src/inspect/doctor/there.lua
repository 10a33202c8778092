-- Whether a job is in a stream, pending or not; one that was deleted by hand and is still pending isn't. It may have to
-- be read.
-- needs: budget
local function is_there(jobs, id)
  -- No id of a stream is no job.
  local entry = redis.pcall('XRANGE', jobs, id, id)
  if entry.err or not entry[1] then return false end
  count_read(entry[1][2])
  return true
end
