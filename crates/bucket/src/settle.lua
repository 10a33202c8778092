-- Settles a batch of attempts of one replica. One look at its membership fences the batch: a job leaves a living replica by
-- that replica's own hand alone.
--
-- KEYS  1 jobs (stream)  2 parked (zset)  3 pace (hash)  4 meter (hash)  5 tally (hash)  6 replicas (hash)
--       7 batches (hash: consumer → number of its last settled batch)  8 attempts (hash)  9 outcomes (hash)
--       10 ended (zset)  11 dead (stream)  12 letters (hash)
-- ARGV  1 consumer  2 number of this batch  3 ms to keep outcomes  4 the most outcomes  5 the most dead letters
--       6 mean µs of these attempts (0: none was called), then per job: id, verb, and three words of the verb
--         complete  record, bytes, failed attempts before
--         park      ms to wait, '1' when the attempt counts, ms to hold the bucket
--         bury      record, reason, ''
-- Result  'settled' | 'fenced'
local keys = {
  jobs = KEYS[1], meter = KEYS[4], tally = KEYS[5], attempts = KEYS[8], outcomes = KEYS[9], ended = KEYS[10],
  dead = KEYS[11], letters = KEYS[12],
}
local PARKED, PACE, REPLICAS, BATCHES = KEYS[2], KEYS[3], KEYS[6], KEYS[7]
local consumer, batch = ARGV[1], ARGV[2]
local most_dead = tonumber(ARGV[5])

if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return 'fenced' end
-- A batch whose answer was lost comes again.
if redis.call('HGET', BATCHES, consumer) == batch then return 'settled' end

-- What is finished leaves first and needs no memory: so it settles at maxmemory too.
local finished = {}
for i = 7, #ARGV, 5 do
  if ARGV[i + 1] == 'complete' then finished[#finished + 1] = ARGV[i] end
end
if #finished > 0 then
  redis.call('XACK', keys.jobs, 'processors', unpack(finished))
  redis.call('XDEL', keys.jobs, unpack(finished))
end

local gone, hold = #finished, 0
for i = 7, #ARGV, 5 do
  local id, verb, a, b, c = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  if verb == 'complete' then
    record(keys, id, a, 'delivered', tonumber(b))
    if c ~= '0' then redis.call('HDEL', keys.attempts, id) end
  elseif verb == 'park' then
    -- Nothing comes back for an entry that somebody deleted by hand: there is nothing to park.
    local parked = redis.call('XCLAIM', keys.jobs, 'processors', '@parked', 0, id, 'RETRYCOUNT', 0, 'JUSTID')
    if #parked > 0 then
      redis.call('ZADD', PARKED, whole(now_ms + tonumber(a)), id)
      if b == '1' then redis.call('HINCRBY', keys.attempts, id, 1) end
    end
    hold = math.max(hold, tonumber(c))
  else
    bury(keys, id, a, b, most_dead)
    gone = gone + 1
  end
end

if hold > 0 then
  local until_ms = tonumber(redis.call('HGET', PACE, 'hold') or 0)
  redis.call('HSET', PACE, 'hold', whole(math.max(until_ms, now_ms + hold)))
end
departed(keys, gone)
forget_outcomes(keys, tonumber(ARGV[3]), tonumber(ARGV[4]))
local call = tonumber(ARGV[6])
if call > 0 then
  local mean = tonumber(redis.call('HGET', keys.meter, 'call') or call)
  redis.call('HSET', keys.meter, 'call', whole(mean + (call - mean) / 8))
end
redis.call('HSET', BATCHES, consumer, batch)
return 'settled'
