-- Examines a part of a list: what its jobs count.
--
-- needs: at_maxmemory, kind/entry, kind/view
-- KEYS  1 tally (hash)  2 the list: the jobs, or what a consumer holds
-- ARGV  1 where to begin: elements behind the head  2 the consumer, '' for the jobs
-- Result  { bytes read, where to go on or -1 at the end, jobs that have ended so far,
--           { id, bytes that it counts, caller or '' }… }
local jobs = {}
local next = look_through(KEYS[2], tonumber(ARGV[1]), function(element)
  local head = read_head(element)
  if head then
    local entry = entry_of(nil, element)
    jobs[#jobs + 1] = { head.id, counted_bytes(entry), caller_of(entry) or '' }
  end
  return false
end)
return { bytes_read, next, ended_so_far(KEYS[1]), unpack(jobs) }
