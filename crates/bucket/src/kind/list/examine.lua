-- Reads the counted bytes and callers of the jobs in a part of a list.
--
-- needs: at_maxmemory, kind/entry, kind/view
-- KEYS  1 tally (hash)  2 the list: waiting jobs, or those that a consumer has claimed
-- ARGV  1 index at which to begin, from the head  2 the consumer, '' for waiting jobs
-- Result  { bytes read, next index or -1 at the end, jobs that have ended so far,
--           { id, counted bytes, caller or '' }… }
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
