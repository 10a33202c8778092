-- List kind: reads jobs that are to be moved to another bucket, from the tail on, where the oldest is. As for a stream.
-- needs: budget, kind/entry
local function read_leaving(jobs, tally, at, most)
  local read = {}
  while #read < most and may_read() do
    local index = -1 - at - #read
    local element = redis.call('LINDEX', jobs, index)
    if not element then return read, true end
    local size, head = count_read(element), read_head(element)
    if head then
      read[#read + 1] = { head.id, element, '', '', '' }
    elseif size > LARGEST_FOREIGN then
      -- Too large to be read as a job, and moved.
      read[#read + 1] = { '0-0', '', '', '', '' }
    else
      -- Added by hand: gets an id, and keeps it, so that a repeated move recognises the job.
      head, element = adopt(tally, element)
      redis.call('LSET', jobs, index, element)
      read[#read + 1] = { head.id, element, '', '', '' }
    end
  end
  return read, false
end
