-- Makes a replica a member of the bucket, which may then take jobs.
--
-- needs: at_maxmemory, now, counts, is_deleted, kind/consumers
-- KEYS  1 jobs  2 replicas (hash)  3 pace (hash)  4 state of the pace (string)  5 standby (hash)  6 control (hash),
--       7 members (hash)  8 meter (hash)  9 tally (hash), then of a list its takers (hash)
-- ARGV  1 consumer  2 '1' if this process joins for the first time  3 its name on standby ('': none)
--       4 '1': only if there is no member  5 incarnation of the bucket ('': it isn't created over the API)
--       6 the lease in ms
-- Result  { 'joined', µs of the Redis clock, dead letters dropped so far }; { 'others', 0, 0 }: there are members;
--         { 'gone', 0, 0 }: the bucket was deleted, or created again
local JOBS, REPLICAS, PACE, TIERS, STANDBY, CONTROL = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local MEMBERS, METER = KEYS[7], KEYS[8]
local consumer, is_first_life, stood_by, only_first = ARGV[1], ARGV[2] == '1', ARGV[3], ARGV[4] == '1'
local incarnation = ARGV[5]

if is_deleted(CONTROL, incarnation) then return { 'gone', 0, 0 } end
if only_first and redis.call('HLEN', REPLICAS) > 0 then return { 'others', 0, 0 } end
local dropped = tonumber(redis.call('HGET', KEYS[9], 'dead_dropped') or nil) or 0
add_consumer(JOBS, consumer)
local is_alone = redis.call('HLEN', REPLICAS) == 0
-- Without members no job left the bucket, so the measurement begins again. Admit does the same for the first job, but a
-- plain XADD doesn't.
if is_alone and rates.read(METER, 'leak') then
  rates.restart(METER, 'leak')
  rates.flush(METER)
end
-- A new bucket has its burst. If there are other members, or this process was one before, a missing state of the pace
-- was lost, and counts as used up.
if is_first_life and is_alone and not redis.call('GET', TIERS) then redis.call('HSET', PACE, 'new', 1) end
-- The same holds for the tokens of callers (flow_state.lua).
if not is_first_life and stood_by == '' and is_alone then
  redis.call('HSETNX', PACE, 'flows', 'lost')
end
redis.call('HSET', REPLICAS, consumer, 0)
-- A deleted bucket of this name has left a TTL on these keys, after which all members would be fenced.
redis.call('PERSIST', REPLICAS)
redis.call('PERSIST', MEMBERS)
-- Removes members that have left or died since the last one joined.
for _, member in ipairs(redis.call('HKEYS', MEMBERS)) do
  if redis.call('HEXISTS', REPLICAS, member) == 0 then redis.call('HDEL', MEMBERS, member) end
end
redis.call('HSET', MEMBERS, consumer, whole(now_ms) .. ' ' .. whole(now_ms) .. ' ' .. ARGV[6])
if stood_by ~= '' then redis.call('HDEL', STANDBY, stood_by) end
return { 'joined', whole(now_us), whole(dropped) }
