-- Ends waiting jobs whose deadline has passed, newest first, in a part of the list at a time. A take does this, too,
-- but not while the bucket is paused, throttled or without a processor.
--
-- needs: at_maxmemory, now, budget, record, record_each, kind/entry, kind/jobs, kind/view
-- KEYS  1 jobs (list)  2 meter (hash)  3 tally (hash)  4 outcomes (hash)  5 ended (zset)  6 holders (hash)
--       7 keyed jobs (hash)  8 key ends (zset)  9 notices (zset), then the list's takers (hash)
-- ARGV  1 what is kept (keep.lua)  2 index at which to begin, from the head, '' for the first
--       3 the earliest deadline of the jobs before, in ms ('': none has one)
-- Result  { expired, '1' if there is more to check now, next index ('' for the first), the earliest deadline of the
--         checked jobs ('': none) }
local keys = {
  meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[4], ended = KEYS[5], holders = KEYS[6],
  keyed_jobs = KEYS[7], key_ends = KEYS[8], notices = KEYS[9], keep = ARGV[1],
}
local JOBS, at, earliest = KEYS[1], tonumber(ARGV[2]) or 0, tonumber(ARGV[3])
-- After how many ms, at the latest, all jobs are checked again: jobs that were added at the head between the calls
-- weren't checked, and jobs in flight may be requeued.
local LATER = 60000

-- All that can fail comes before the first write: a script doesn't roll back.
check_types(keys, false)
local gone, at_end = {}, false
for _ = 1, LOOKED_AT do
  if not may_read() then break end
  local element = redis.call('LINDEX', JOBS, at)
  if not element then
    at_end = true
    break
  end
  count_read(element)
  local head = read_head(element)
  local deadline = head and head.expires
  if deadline and deadline <= now_ms then
    local entry = entry_of(JOBS, element)
    record_expired(keys, head.id, head.deliveries, head.throttled, counted_bytes(entry), caller_of(entry))
    gone[#gone + 1] = at
  elseif deadline then
    earliest = math.min(earliest or deadline, deadline)
  end
  at = at + 1
end

at = at - remove_at(JOBS, gone)
record_exits(keys)
if not at_end then return { #gone, '1', whole(at), earliest and whole(earliest) or '' } end
redis.call('HSETNX', keys.tally, 'deadline_known', '1')
if count_jobs(JOBS) > 0 then
  redis.call('HSET', keys.tally, 'deadline', whole(math.min(earliest or math.huge, now_ms + LATER)))
else
  redis.call('HDEL', keys.tally, 'deadline')
end
return { #gone, '0', '', '' }
