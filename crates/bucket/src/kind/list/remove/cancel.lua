-- Cancels a job that waits in a part of the list.
--
-- needs: at_maxmemory, record, record_each, kind/entry, kind/view
-- KEYS  1 jobs (list)  2 meter (hash)  3 tally (hash)  4 outcomes (hash)  5 ended (zset)  6 holders (hash)
--       7 keyed jobs (hash)  8 key ends (zset)  9 notices (zset)
-- ARGV  1 id  2 what is kept (keep.lua)  3 index at which to begin, from the head
-- Result  { bytes read, 'cancelled' }
--         | { bytes read, 'elsewhere', next index or -1 at the end, jobs that have ended so far }
local keys = {
  meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[4], ended = KEYS[5], holders = KEYS[6],
  keyed_jobs = KEYS[7], key_ends = KEYS[8], notices = KEYS[9], keep = ARGV[2],
}
local JOBS, id = KEYS[1], ARGV[1]

local start = '{"id":"' .. id .. '",'
local found
local next = look_through(JOBS, tonumber(ARGV[3]), function(element)
  if string.sub(element, 1, #start) == start then found = element end
  return found
end)
if not found then return { bytes_read, 'elsewhere', next, ended_so_far(keys.tally) } end
check_types(keys, false)
redis.call('LREM', JOBS, -1, found)
local entry = entry_of(JOBS, found)
local caller = caller_of(entry)
record(keys, id, outcome_of('cancelled', nil, 0, caller), 'cancelled', counted_bytes(entry), caller)
record_exits(keys)
return { bytes_read, 'cancelled' }
