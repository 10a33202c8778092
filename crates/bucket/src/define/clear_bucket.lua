-- Forgets what an earlier incarnation of a bucket has left, a part in each call. One that is open, or has jobs, keeps
-- all.
--
-- needs: at_maxmemory, closed, count_any_kind
-- KEYS  1 jobs  2 control (hash)  3 takers of a list (hash)  4 key ends (zset)  5 keyed jobs (hash)  6… the bucket's
--       other keys of any type, then idempotency keys (string) that are to be forgotten
-- ARGV  1 incarnation  2 how many keys come before the idempotency keys  3 the most idempotency keys to name
-- Result  { 'kept' } | { 'cleared' } | { 'more', idempotency keys that are to be forgotten first… }
local JOBS, CONTROL, TAKERS, KEY_ENDS, KEYED_JOBS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
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
redis.call('DEL', JOBS, TAKERS)
for i = 6, before do redis.call('DEL', KEYS[i]) end
return { 'cleared' }
