-- Forgets what an earlier incarnation of a bucket has left, a part in each call. One that is open, or has jobs, keeps
-- all.
--
-- needs: at_maxmemory, closed, count_any_kind, letters, keep_outcomes
-- KEYS  1 jobs  2 control (hash)  3 takers of a list (hash)  4 key ends (zset)  5 keyed jobs (hash)  6 tally (hash)
--       7 outcomes (hash)  8 ended (zset)  9 dead (stream)  10 letters (hash)  11 sizes (zset)  12… the bucket's
--       other keys of any type, then idempotency keys (string) that are to be forgotten
-- ARGV  1 incarnation  2 how many keys come before the idempotency keys  3 the most idempotency keys to name
-- Result  { 'kept' } | { 'cleared' } | { 'more', idempotency keys that are to be forgotten first… }
local JOBS, CONTROL, TAKERS, KEY_ENDS, KEYED_JOBS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
-- Nothing of ended work is kept (keep.lua).
local keys = {
  tally = KEYS[6], outcomes = KEYS[7], ended = KEYS[8], dead = KEYS[9], letters = KEYS[10], sizes = KEYS[11],
  keep = string.rep('0 ', 9) .. '0',
}
-- In one call: what a batch that is settled may forget.
local OUTCOMES_AT_ONCE = 500
local incarnation, before, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local state = redis.call('HMGET', CONTROL, 'incarnation', 'closed')
-- Or will be again, where somebody is about to delete it.
local is_open = state[1] == incarnation and state[2] ~= CLOSED
local is_later = state[1] and tonumber(state[1]) > tonumber(incarnation)
if is_open or is_later or count_any_kind(JOBS, TAKERS) > 0 then return { 'kept' } end

for i = before + 1, #KEYS do
  redis.call('DEL', KEYS[i])
  redis.call('ZREM', KEY_ENDS, KEYS[i])
end
-- Of jobs that somebody deleted by hand.
local keyed = redis.call('HSCAN', KEYED_JOBS, 0, 'COUNT', most)[2]
for i = 1, #keyed, 2 do
  redis.call('ZADD', KEY_ENDS, 0, keyed[i + 1])
  redis.call('HDEL', KEYED_JOBS, keyed[i])
end
local names = redis.call('ZRANGE', KEY_ENDS, 0, most - 1)
if #names > 0 then return { 'more', unpack(names) } end
if redis.call('HLEN', KEYED_JOBS) > 0 then return { 'more' } end
-- These may be many, and large: Redis answers nobody while one command deletes them all.
local outcomes, dropped = redis.call('HLEN', keys.outcomes), drop_letters(keys, 0, 0)
if forget_outcomes(keys, OUTCOMES_AT_ONCE, outcomes, 0) + dropped > 0 then return { 'more' } end
redis.call('DEL', JOBS, TAKERS)
for i = 6, before do redis.call('DEL', KEYS[i]) end
return { 'cleared' }
