-- Cancels a job that waits or is parked.
--
-- needs: at_maxmemory, budget, constants, outbox, record, record_each, kind/entry, kind/leave, kind/pending
-- KEYS  1 jobs (stream)  2 meter (hash)  3 tally (hash)  4 outcomes (hash)  5 ended (zset)  6 holders (hash)
--       7 keyed jobs (hash)  8 key ends (zset)
--       9 notices (zset)  10 outbox (stream) where ends go elsewhere, then attempts (hash), unburied (hash),
--       failed (hash), throttled (zset), flow-state (hash), parked (zset), flows (zset), ranges (zset)
-- ARGV  1 id  2 what is kept (keep.lua)  3 0, which only a list has a use for
-- Result  { bytes read, 'cancelled' } | { bytes read, 'outbox_full' }
--         | { bytes read, 'elsewhere', -1, 0 }: in flight, ended or unknown
local keys = {
  meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[4], ended = KEYS[5], holders = KEYS[6],
  keyed_jobs = KEYS[7], key_ends = KEYS[8], notices = KEYS[9], keep = ARGV[2],
  outbox = open_outbox(ARGV[2], KEYS[10]),
}
local id = ARGV[1]

local owner = owner_of(JOBS, id)
if owner and owner ~= PARKED_OWNER then return { 0, 'elsewhere', -1, 0 } end
local found = redis.call('XRANGE', JOBS, id, id)[1]
if not found then return { 0, 'elsewhere', -1, 0 } end
count_read(found[2])
local chain = field(found[2], 'chain')
if keys.outbox and #keys.outbox.targets_of(id, 'cancelled', chain) > 0 then
  if keys.outbox.room(keys, count_with_replicas(JOBS)) <= 0 then return { bytes_read, 'outbox_full' } end
end
check_types(keys, false)
local failures = tonumber(leave(id, found[2]) or nil) or 0
local caller = caller_of(found[2])
local outcome = outcome_of('cancelled', nil, failures, caller)
record(keys, id, outcome, 'cancelled', counted_bytes(found[2]), caller, nil, chain)
record_exits(keys)
write_ranges(JOBS)
return { bytes_read, 'cancelled' }
