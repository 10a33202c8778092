-- Cancels what waits, oldest first, a bounded number at a time.
--
-- KEYS  1 jobs (list)  2 meter (hash)  3 tally (hash)  4 outcomes (hash)  5 ended (zset)  6 holders (hash)
-- ARGV  1 the last id that is still to be purged ('' at first: all there is now)  2 the most jobs in this call
--       3 ms to keep outcomes  4 the most outcomes
-- Result  { purged, the last id to be purged, or '' when all is done }
local keys = { meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[4], ended = KEYS[5], holders = KEYS[6] }
local JOBS, most = KEYS[1], tonumber(ARGV[2])
-- A new id comes after all that are there, and before all that follow.
local last = ARGV[1] ~= '' and ARGV[1] or next_id(keys.tally)
local bound = read_head('{"id":"' .. last .. '",')

local purged, all = 0, false
while purged < most do
  local element = redis.call('LINDEX', JOBS, -1)
  local head = element and read_head(element)
  if not element or head and comes_after(head, bound) then
    all = true
    break
  end
  redis.call('RPOP', JOBS)
  if not head then head, element = adopt(keys.tally, element) end
  local entry = entry_of(JOBS, element)
  local caller = caller_of(entry)
  record(keys, head.id, outcome_of('cancelled', 'purged', 0, caller), 'cancelled', counted_bytes(entry), caller)
  purged = purged + 1
end

departed(keys, purged)
forget_outcomes(keys, tonumber(ARGV[3]), tonumber(ARGV[4]))
return { purged, all and '' or last }
