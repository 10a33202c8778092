-- Cancels what waits or is parked, as much at a time as a script may read. What comes later stays.
--
-- needs: at_maxmemory, constants, budget, keep, record, kind/entry, kind/held, kind/leave, kind/pending
-- KEYS  1 jobs (stream)  2 meter (hash)  3 tally (hash)  4 outcomes (hash)  5 ended (zset)  6 holders (hash)
--       7 keyed jobs (hash)  8 key ends (zset)
--       9 notices (zset), then parked (zset), attempts (hash), unburied (hash), failed (hash)
-- ARGV  1 the last id that is to be purged ('' at first: the last one there is now)  2 the most jobs in this call
--       3 what is kept (keep.lua)
-- Result  { purged, the last id that is to be purged, or '' when all is done }
local keys = {
  meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[4], ended = KEYS[5], holders = KEYS[6],
  keyed_jobs = KEYS[7], key_ends = KEYS[8], notices = KEYS[9], keep = read_keep(ARGV[3]),
}
local last, most = ARGV[1], tonumber(ARGV[2])

if last == '' then
  local newest = redis.call('XREVRANGE', JOBS, '+', '-', 'COUNT', 1)[1]
  if not newest then return { 0, '' } end
  count_read(newest[2])
  last = newest[1]
end

local looked_at, purged = 0, 0
local function may_go_on()
  return looked_at < most and may_read()
end

local function drop(id, entry)
  looked_at, purged = looked_at + 1, purged + 1
  count_read(entry)
  local failures = tonumber(leave(id) or 0)
  local caller = caller_of(entry)
  record(keys, id, outcome_of('cancelled', 'purged', failures, caller), 'cancelled', counted_bytes(entry), caller)
end

-- By their ids, which say when they came; their due times don't. True when none is left.
local function drop_parked()
  local parked = pending_jobs(JOBS, '-', last, most, PARKED_OWNER)
  for _, held in ipairs(parked) do
    if not may_go_on() then return false end
    local id = held[1]
    local found = redis.call('XRANGE', JOBS, id, id)[1]
    if found then
      drop(id, found[2])
    else
      -- Deleted by hand: only the pending list still knows it.
      looked_at = looked_at + 1
      redis.call('XACK', JOBS, GROUP, id)
      redis.call('ZREM', PARKED, id)
      redis.call('HDEL', UNBURIED, id)
    end
  end
  return #parked < most
end

-- Nothing behind what was last delivered is pending. True when none is left.
local function drop_waiting()
  local delivered = last_delivered(JOBS)
  local from = delivered and '(' .. delivered or '-'
  while may_go_on() do
    local found = redis.call('XRANGE', JOBS, from, last, 'COUNT', 1)[1]
    if not found then return true end
    drop(found[1], found[2])
  end
  return false
end

local all = drop_parked() and drop_waiting()
record_exits(keys)
return { purged, all and '' or last }
