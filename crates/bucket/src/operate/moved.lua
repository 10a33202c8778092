-- Ends jobs that another bucket has accepted under new ids, or whose deadline has passed. Jobs in flight stay.
--
-- needs: at_maxmemory, record, record_each, kind/entry, kind/moved
-- KEYS  1 jobs  2 meter (hash)  3 tally (hash)  4 outcomes (hash)  5 ended (zset)  6 holders (hash)
--       7 keyed jobs (hash)  8 key ends (zset)
--       9 notices (zset), then a stream's attempts (hash), unburied (hash), failed (hash), throttled (zset),
--       flow-state (hash), parked (zset), flows (zset), ranges (zset)
-- ARGV  1 what is kept (keep.lua)  2 the bucket that has accepted them  3 how many elements at a list's tail to skip
--       4… per job: its id, and that of the new job ('': its deadline has passed)
-- Result  the number of jobs that were ended
local keys = {
  meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[4], ended = KEYS[5], holders = KEYS[6],
  keyed_jobs = KEYS[7], key_ends = KEYS[8], notices = KEYS[9], keep = ARGV[1],
}
local into, stay = ARGV[2], tonumber(ARGV[3])
local ids, news = {}, {}
for i = 4, #ARGV, 2 do
  ids[#ids + 1], news[ARGV[i]] = ARGV[i], ARGV[i + 1]
end

-- All that can fail comes before the first write: a script doesn't roll back.
check_types(keys, false)
local ended = withdraw_moved(KEYS[1], ids, stay, function(id, entry, failures, deliveries, throttled)
  local caller, new = caller_of(entry), news[id]
  if new == '' then
    record_expired(keys, id, deliveries, throttled, counted_bytes(entry), caller)
  else
    local outcome = outcome_of('cancelled', 'moved to `' .. into .. '` as job ' .. new, failures, caller)
    record(keys, id, outcome, 'cancelled', counted_bytes(entry), caller)
  end
end)
record_exits(keys)
write_ranges(KEYS[1])
return ended
