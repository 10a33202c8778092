-- List kind: jobs that are to be moved, from the tail of the list, where the oldest is, on. As of a stream.
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
      -- Too large to be given an id, or to be moved.
      read[#read + 1] = { '0-0', '', '', '', '' }
    else
      -- Somebody else has put it there. It keeps its id, by which the new job is known when this is done again.
      head, element = adopt(tally, element)
      redis.call('LSET', jobs, index, element)
      read[#read + 1] = { head.id, element, '', '', '' }
    end
  end
  return read, false
end
