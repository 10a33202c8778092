-- Cancels all waiting jobs, oldest first, in each call as many as a script may read. Later jobs stay.
--
-- needs: at_maxmemory, now, budget, record, record_each, kind/entry
-- KEYS  1 jobs (list)  2 meter (hash)  3 tally (hash)  4 outcomes (hash)  5 ended (zset)  6 holders (hash)
--       7 keyed jobs (hash)  8 key ends (zset)  9 notices (zset)
-- ARGV  1 what is to be purged ('' at first: all jobs): the last id, and the number of elements without one, which were
--       added by hand  2 maximum jobs in this call  3 what is kept (keep.lua)  4 '', which only a stream uses
-- Result  { purged, what is still to be purged, or '' when all is done, '' }
local keys = {
  meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[4], ended = KEYS[5], holders = KEYS[6],
  keyed_jobs = KEYS[7], key_ends = KEYS[8], notices = KEYS[9], keep = ARGV[3],
}
local JOBS, most = KEYS[1], tonumber(ARGV[2])
local last, foreign = string.match(ARGV[1], '^(%S+) (%d+)$')
-- No job in the list has a later id than the last one that was given.
last = last or redis.call('HGET', keys.tally, 'last_id') or '0-0'
foreign = tonumber(foreign or redis.call('LLEN', JOBS))
local bound = read_head('{"id":"' .. last .. '",')

-- All that can fail comes before the first write: a script doesn't roll back.
check_types(keys, false)
local purged, all = 0, false
while purged < most and may_read() do
  local element = redis.call('LINDEX', JOBS, -1)
  local head = element and read_head(element)
  if not element or head and comes_after(head, bound) or not head and foreign == 0 then
    all = true
    break
  end
  count_read(element)
  redis.call('RPOP', JOBS)
  if not head then
    foreign = foreign - 1
    head, element = adopt(keys.tally, element)
  end
  local entry = entry_of(JOBS, element)
  local caller = caller_of(entry)
  record(keys, head.id, outcome_of('cancelled', 'purged', 0, caller), 'cancelled', counted_bytes(entry), caller)
  purged = purged + 1
end

record_exits(keys)
return { purged, all and '' or last .. ' ' .. whole(foreign), '' }
