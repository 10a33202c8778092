-- Skips ticks that get no job, if they are still the next ones of their schedules and are due.
--
-- needs: now, granted, known_schedules
-- KEYS  1 next ticks (zset)  2 states (hash)
-- ARGV  1… per schedule: its id, its version, its next tick in ms, the new next tick in ms (-1: none), how many ticks
--       are missed
-- Result  per schedule 1, or 0: it has another version or next tick, or that isn't due
local WORDS = 5
local ids, passed = {}, {}
for i = 1, #ARGV, WORDS do ids[#ids + 1] = ARGV[i] end
local schedules = open_schedules(ids, KEYS[2], KEYS[1])
for i = 1, #ARGV, WORDS do
  local id, version, from, next_tick, missed = unpack(ARGV, i, i + WORDS - 1)
  local state = tonumber(from) <= now_ms and schedules.due(id, version, tonumber(from))
  if state then
    count_ticks(state, 'missed', tonumber(missed))
    state.reason = '-'
    schedules.advance(id, next_tick)
  end
  passed[#passed + 1] = state and 1 or 0
end
check_granted(KEYS[1], 'ZADD', 'ZREM')
schedules.write()
return passed
