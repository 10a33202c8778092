-- Finds a job in a part of a list.
--
-- needs: shown_fields, kind/view
-- KEYS  1 tally (hash)  2 the list: waiting jobs, or those that a consumer has claimed
-- ARGV  1 index at which to begin, from the head  2 the consumer, '' for waiting jobs  3 id
--       4 '1': also its payload
-- Result  { bytes read, next index or -1 at the end, jobs that have ended so far, the job as in view.lua and
--           shown_fields.lua, or nothing }
local LIST, at, consumer, id = KEYS[2], tonumber(ARGV[1]), ARGV[2], ARGV[3]
local start = '{"id":"' .. id .. '",'
local job
local next = look_through(LIST, at, function(element)
  if string.sub(element, 1, #start) ~= start then return false end
  job = view(element, consumer)
  if ARGV[4] == '1' then job[#job + 1], job[#job + 2] = shown_fields({ 'element', element }) end
  return true
end)
return { bytes_read, next, ended_so_far(KEYS[1]), job }
