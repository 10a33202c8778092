-- Whether the stream has the entry of a job, pending or not. False for a job that was deleted by hand and is still
-- pending. Reads the entry.
-- needs: budget
local function is_there(jobs, id)
  -- XRANGE fails if this isn't a valid id: then no such job exists.
  local entry = redis.pcall('XRANGE', jobs, id, id)
  if entry.err or not entry[1] then return false end
  count_read(entry[1][2])
  return true
end
