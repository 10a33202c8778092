-- Pauses or resumes a schedule.
--
-- needs: at_maxmemory, granted, schedule_state
-- KEYS  1 states (hash)  2 next ticks (zset)
-- ARGV  1 id  2 the version that the caller knows  3 '1': paused, or '0'  4 the next tick in ms (-1: none)
--       5 the new version, so that a concurrent definition based on the known version doesn't undo this
-- Result  { 'switched', its state, its next tick in ms (-1: none) } | { 'changed' }: the schedule has another version,
--         or doesn't exist
local STATES, NEXT, id, known, paused, next_tick = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local state = read_schedule(STATES, id)
if not state or state.version ~= known then return { 'changed' } end
-- Pausing a paused schedule, or resuming a running one, changes nothing, so that its next tick isn't delayed.
local next_then = ARGV[4]
if state.paused == paused then
  next_then = redis.call('ZSCORE', NEXT, id) or '-1'
else
  state.version, state.paused, state.reason = ARGV[5], paused, '-'
  check_granted(STATES, 'HSET')
  -- Written first, because this key wasn't read before and may have another type.
  set_next(NEXT, id, next_tick)
  write_schedule(STATES, id, state)
end
return { 'switched', schedule_text(state), next_then }
