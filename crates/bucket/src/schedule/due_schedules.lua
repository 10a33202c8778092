-- Returns schedules whose tick has come, and when the next one comes.
--
-- needs: now, budget
-- KEYS  1 next ticks (zset)  2 schedules (hash)  3 states (hash)
-- ARGV  1 how many of them to pass over  2 the most to return
-- Result  { now in ms, the first tick that hasn't come in ms (-1: none), then of each its id, tick in ms, state and
--         definition }
local NEXT, SCHEDULES, STATES, after, most = KEYS[1], KEYS[2], KEYS[3], tonumber(ARGV[1]), tonumber(ARGV[2])
local now_text = whole(now_ms)
local first = redis.call('ZRANGE', NEXT, '(' .. now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
local found = { now_text, first[2] or '-1' }
local due = redis.call('ZRANGE', NEXT, '-inf', now_text, 'BYSCORE', 'LIMIT', after, most, 'WITHSCORES')
local ids, definitions = {}, {}
for i = 1, #due, 2 do
  if not may_read() then break end
  local definition = redis.call('HGET', SCHEDULES, due[i]) or ''
  count_read(definition)
  ids[#ids + 1], definitions[#definitions + 1] = due[i], definition
end
local states = #ids > 0 and redis.call('HMGET', STATES, unpack(ids)) or {}
for i, id in ipairs(ids) do
  local last = #found
  found[last + 1], found[last + 2], found[last + 3], found[last + 4] = id, due[2 * i], states[i] or '', definitions[i]
end
return found
