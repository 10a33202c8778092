-- Returns schedules whose tick has come, and when the next one comes.
--
-- needs: now, budget
-- KEYS  1 next ticks (zset)  2 schedules (hash)  3 states (hash)
-- ARGV  1 how many of them to pass over  2 the most to return
-- Result  { now in ms, the first tick that hasn't come in ms (-1: none), { id, tick in ms, state, definition }… }
local NEXT, SCHEDULES, STATES, after, most = KEYS[1], KEYS[2], KEYS[3], tonumber(ARGV[1]), tonumber(ARGV[2])
local now_text = whole(now_ms)
local first = redis.call('ZRANGE', NEXT, '(' .. now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
local found = { now_text, first[2] or '-1' }
local due = redis.call('ZRANGE', NEXT, '-inf', now_text, 'BYSCORE', 'LIMIT', after, most, 'WITHSCORES')
for i = 1, #due, 2 do
  if not may_read() then break end
  local id = due[i]
  local definition = redis.call('HGET', SCHEDULES, id) or ''
  count_read(definition)
  found[#found + 1] = { id, due[i + 1], redis.call('HGET', STATES, id) or '', definition }
end
return found
