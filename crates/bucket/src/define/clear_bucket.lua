-- Deletes the data of an earlier incarnation of a bucket, a part in each call. Deletes nothing if the bucket is open or
-- has jobs.
--
-- needs: at_maxmemory, closed, count_any_kind, letters, keep_outcomes
-- KEYS  1 jobs  2 control (hash)  3 takers of a list (hash)  4 key ends (zset)  5 keyed jobs (hash)  6 tally (hash)
--       7 outcomes (hash)  8 ended (zset)  9 dead (stream)  10 letters (hash)  11 sizes (zset)  12… the bucket's
--       other keys of any type, then the idempotency keys (string) to delete
-- ARGV  1 incarnation  2 number of KEYS before the idempotency keys  3 the maximum number of idempotency keys to return
-- Result  { 'kept' } | { 'cleared' } | { 'more', idempotency keys to be deleted by the next call… }
local JOBS, CONTROL, TAKERS, KEY_ENDS, KEYED_JOBS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
-- `keep` has only zeros, so that nothing of ended jobs is kept (keep.lua).
local keys = {
  tally = KEYS[6], outcomes = KEYS[7], ended = KEYS[8], dead = KEYS[9], letters = KEYS[10], sizes = KEYS[11],
  keep = string.rep('0 ', 9) .. '0',
}
-- The maximum number of outcomes deleted in one call.
local OUTCOMES_AT_ONCE = 500
local incarnation, before, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local state = redis.call('HMGET', CONTROL, 'incarnation', 'closed')
-- A suspended bucket counts as open: its deletion may still be undone.
local is_open = state[1] == incarnation and state[2] ~= CLOSED
local is_later = state[1] and tonumber(state[1]) > tonumber(incarnation)
if is_open or is_later or count_any_kind(JOBS, TAKERS) > 0 then return { 'kept' } end

for i = before + 1, #KEYS do
  redis.call('DEL', KEYS[i])
  redis.call('ZREM', KEY_ENDS, KEYS[i])
end
-- Jobs that somebody deleted by hand still have their idempotency keys: ends these now, so that they are returned.
local keyed = redis.call('HSCAN', KEYED_JOBS, 0, 'COUNT', most)[2]
for i = 1, #keyed, 2 do
  redis.call('ZADD', KEY_ENDS, 0, keyed[i + 1])
  redis.call('HDEL', KEYED_JOBS, keyed[i])
end
local names = redis.call('ZRANGE', KEY_ENDS, 0, most - 1)
if #names > 0 then return { 'more', unpack(names) } end
if redis.call('HLEN', KEYED_JOBS) > 0 then return { 'more' } end
-- Outcomes and letters may be many and large: deleting all with one command would block Redis, so each call drops some.
local outcomes, dropped = redis.call('HLEN', keys.outcomes), drop_letters(keys, 0, 0)
if forget_outcomes(keys, OUTCOMES_AT_ONCE, outcomes, 0) + dropped > 0 then return { 'more' } end
redis.call('DEL', JOBS, TAKERS)
for i = 6, before do redis.call('DEL', KEYS[i]) end
return { 'cleared' }
