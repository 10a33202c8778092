-- Lists jobs in a part of a list, by range of ids. Elements that were added by hand have no id until a replica takes
-- them, and aren't shown.
--
-- needs: job_filter, kind/entry, kind/view
-- KEYS  1 tally (hash)  2 the list: waiting jobs, or those that a consumer has claimed
-- ARGV  1 index at which to begin, from the head  2 the consumer, '' for waiting jobs
--       3 the id after which jobs are wanted ('' for all)  4 the id up to which they are ('' for all)
--       5 the caller, '' for all  6 ms since the admission at least, '' for all
--       7 the latest ms of the admission, '' for all
-- Result  { bytes read, next index or -1 at the end, jobs that have ended so far, job… as in view.lua }
local LIST, at, consumer = KEYS[2], tonumber(ARGV[1]), ARGV[2]
local after = read_head('{"id":"' .. ARGV[3] .. '",') or { ms = -1, seq = -1 }
local last = read_head('{"id":"' .. ARGV[4] .. '",') or { ms = math.huge, seq = 0 }
local wanted, latest_ms = ARGV[5], newest_of(ARGV[6], ARGV[7])
local jobs = {}
local next = look_through(LIST, at, function(element)
  local head = read_head(element)
  if head and head.ms <= latest_ms and comes_after(head, after) and not comes_after(head, last) then
    local job = view(element, consumer)
    if wanted == '' or job[5] == wanted then jobs[#jobs + 1] = job end
  end
  return false
end)
return { bytes_read, next, ended_so_far(KEYS[1]), unpack(jobs) }
