-- Returns schedules by their ids, until it has read as many bytes as one script may read.
--
-- needs: now, budget
-- KEYS  1 schedules (hash)  2 next ticks (zset)  3 states (hash)
-- ARGV  1… ids
-- Result  { now in ms, how many of the ids were looked up, { id, definition, state, next tick in ms (-1: none) }… }
local SCHEDULES, NEXT, STATES = KEYS[1], KEYS[2], KEYS[3]
local found, looked = { whole(now_ms), 0 }, 0
for _, id in ipairs(ARGV) do
  if not may_read() then break end
  looked = looked + 1
  local definition = redis.call('HGET', SCHEDULES, id)
  if definition then
    count_read(definition)
    found[#found + 1] = {
      id, definition, redis.call('HGET', STATES, id) or '', redis.call('ZSCORE', NEXT, id) or '-1',
    }
  end
end
found[2] = looked
return found
