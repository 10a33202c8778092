-- Cancels jobs that match, newest first, in a part of the list at a time. Later jobs stay, and elements that were added
-- by hand, which have no id until a replica takes them.
--
-- needs: at_maxmemory, now, budget, job_filter, record, record_each, kind/entry, kind/view
-- KEYS  1 jobs (list)  2 meter (hash)  3 tally (hash)  4 outcomes (hash)  5 ended (zset)  6 holders (hash)
--       7 keyed jobs (hash)  8 key ends (zset)  9 notices (zset)
-- ARGV  1 what is kept (keep.lua)  2 the caller, '' for all  3 ms since the admission at least, '' for all
--       4 the latest ms of the admission, '' for all
--       5 the last id that may match ('' at first: by these times, or the last one that was given)
--       6 index at which to begin, from the head  7 how many were cancelled so far
--       8 maximum jobs to cancel in this call  9 the id after which jobs match, '' for all
-- Result  { cancelled, the last id that may match, next index or -1 at the end,
--           jobs that have ended so far, without those that these calls have cancelled }
local keys = {
  meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[4], ended = KEYS[5], holders = KEYS[6],
  keyed_jobs = KEYS[7], key_ends = KEYS[8], notices = KEYS[9], keep = ARGV[1],
}
local JOBS, wanted, newest_ms, last = KEYS[1], ARGV[2], newest_of(ARGV[3], ARGV[4]), ARGV[5]
local at, before, most = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local too_old = read_head('{"id":"' .. ARGV[9] .. '",') or { ms = -1, seq = -1 }

if last == '' and newest_ms < math.huge then
  -- No id of that millisecond has a later sequence number.
  last = whole(newest_ms) .. '-999999999999999'
elseif last == '' then
  -- No job in the list has a later id than the last one that was given.
  last = redis.call('HGET', keys.tally, 'last_id') or '0-0'
end
local bound = read_head('{"id":"' .. last .. '",')
local ended_otherwise = math.max(0, tonumber(ended_so_far(keys.tally)) - before)

-- All that can fail comes before the first write: a script doesn't roll back.
check_types(keys, false)
local gone, at_end = {}, false
for _ = 1, LOOKED_AT do
  if #gone >= most or not may_read() then break end
  local element = redis.call('LINDEX', JOBS, at)
  if not element then
    at_end = true
    break
  end
  count_read(element)
  local head = read_head(element)
  local entry = head and entry_of(JOBS, element)
  local caller = entry and caller_of(entry)
  local is_between = head and comes_after(head, too_old) and not comes_after(head, bound)
  if is_between and (wanted == '' or caller == wanted) then
    local outcome = outcome_of('cancelled', 'bulk cancel', 0, caller)
    record(keys, head.id, outcome, 'cancelled', counted_bytes(entry), caller)
    gone[#gone + 1] = at
  end
  at = at + 1
end

at = at - remove_at(JOBS, gone)
record_exits(keys)
return { #gone, last, at_end and -1 or at, whole(ended_otherwise) }
