-- Returns the schedules whose ticks are due, and when the next tick is.
--
-- needs: now, budget
-- KEYS  1 next ticks (zset)  2 schedules (hash)  3 states (hash)  4 tally (hash)
-- ARGV  1 how many due schedules to skip  2 maximum schedules to return
-- Result  { now in ms, the first tick that isn't due in ms (-1: none), then of each schedule its id, tick in ms, state
--         and definition }
local NEXT, SCHEDULES, STATES, after, most = KEYS[1], KEYS[2], KEYS[3], tonumber(ARGV[1]), tonumber(ARGV[2])
local now_text = whole(now_ms)
local first = redis.call('ZRANGE', NEXT, '(' .. now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
local found = { now_text, first[2] or '-1' }
local due = redis.call('ZRANGE', NEXT, '-inf', now_text, 'BYSCORE', 'LIMIT', after, most, 'WITHSCORES')
if #due == 0 then return found end
local ids, definitions = {}, {}
for i = 1, #due, 2 do ids[#ids + 1] = due[i] end
local bytes_of_all = tonumber(redis.call('HGET', KEYS[4], 'schedules_bytes') or nil) or math.huge
if bytes_of_all <= LARGEST_BODY then
  -- All definitions together have no more bytes than the largest body may have.
  definitions = redis.call('HMGET', SCHEDULES, unpack(ids))
else
  for i, id in ipairs(ids) do
    if not may_read() then break end
    definitions[i] = redis.call('HGET', SCHEDULES, id)
    count_read(definitions[i] or '')
  end
end
local states = redis.call('HMGET', STATES, unpack(ids))
for i, definition in ipairs(definitions) do
  local last = #found
  found[last + 1], found[last + 2] = ids[i], due[2 * i]
  found[last + 3], found[last + 4] = states[i] or '', definition or ''
end
return found
