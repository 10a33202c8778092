-- Passes over ticks that get no job, as long as they are the next ones and have come.
--
-- needs: now, schedule_state
-- KEYS  1 next ticks (zset)  2 states (hash)
-- ARGV  1… per schedule: its id, its version, its next tick in ms, the one to go on with (-1: none), how many are
--       missed
-- Result  per schedule 1, or 0: nothing was to be done
local NEXT, STATES = KEYS[1], KEYS[2]
local passed = {}
for i = 1, #ARGV, 5 do
  local id, version, from, next_tick, missed = unpack(ARGV, i, i + 4)
  local state = read_schedule(STATES, id)
  local is_due = tonumber(from) <= now_ms and is_next(NEXT, id, state, version, tonumber(from))
  if is_due then
    state.missed, state.reason = state.missed + tonumber(missed), '-'
    write_schedule(STATES, id, state)
    set_next(NEXT, id, tonumber(next_tick))
  end
  passed[#passed + 1] = is_due and 1 or 0
end
return passed
