-- Pauses or resumes a schedule.
--
-- needs: at_maxmemory, granted, schedule_state
-- KEYS  1 states (hash)  2 next ticks (zset)
-- ARGV  1 id  2 the version that its caller knows  3 '1': paused, or '0'  4 the next tick in ms (-1: none)
--       5 its new version, so that a definition made from what was there before doesn't undo this
-- Result  { 'switched', its state, its next tick in ms (-1: none) } | { 'changed' }: the version is another one, or the
--         schedule is gone
local STATES, NEXT, id, known, paused, next_tick = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local state = read_schedule(STATES, id)
if not state or state.version ~= known then return { 'changed' } end
-- What is switched twice is unchanged: its next tick isn't put off.
local next_then = ARGV[4]
if state.paused == paused then
  next_then = redis.call('ZSCORE', NEXT, id) or '-1'
else
  state.version, state.paused, state.reason = ARGV[5], paused, '-'
  check_granted(STATES, 'HSET')
  -- First what wasn't read: it may be of another type.
  set_next(NEXT, id, next_tick)
  write_schedule(STATES, id, state)
end
return { 'switched', schedule_text(state), next_then }
