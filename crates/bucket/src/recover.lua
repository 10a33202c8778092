-- Takes over what a dead replica holds: due again for all, at the bucket's pace, the delivery count as it is; a job that
-- was handed out too often without an end is buried. The consumer goes when it holds nothing.
--
-- KEYS  1 jobs (stream)  2 parked (zset)  3 meter (hash)  4 tally (hash)  5 replicas (hash)  6 batches (hash)
--       7 attempts (hash)  8 outcomes (hash)  9 ended (zset)  10 dead (stream)  11 letters (hash)
-- ARGV  1 the consumer  2 its heartbeats as they stood still ('' for one that is no member; '*' for one's own leaving)
--       3 the most deliveries  4 the most dead letters  5 the most jobs to take over in this call
-- Result  { 'alive' } when it has moved since, else { 'more' | 'gone', recovered, poisoned }
local keys = {
  jobs = KEYS[1], meter = KEYS[3], tally = KEYS[4], attempts = KEYS[7], outcomes = KEYS[8], ended = KEYS[9],
  dead = KEYS[10], letters = KEYS[11],
}
local PARKED, REPLICAS, BATCHES = KEYS[2], KEYS[5], KEYS[6]
local consumer, seen, most = ARGV[1], ARGV[2], tonumber(ARGV[5])
local leaving = seen == '*'

local beats = redis.call('HGET', REPLICAS, consumer)
if not leaving and (beats or '') ~= seen then return { 'alive' } end
redis.call('HDEL', REPLICAS, consumer)
redis.call('HDEL', BATCHES, consumer)

local pending = redis.pcall('XPENDING', keys.jobs, 'processors', '-', '+', most, consumer)
-- No stream, no group: nothing is held.
if pending.err then return { 'gone', 0, 0 } end

local recovered, poisoned = 0, 0
for _, held in ipairs(pending) do
  local id, deliveries = held[1], held[4]
  if not leaving and deliveries >= tonumber(ARGV[3]) then
    local reason = 'handed out ' .. deliveries .. ' times without an end: it seems to kill its processor'
    local failures = tonumber(redis.call('HGET', keys.attempts, id) or 0)
    local outcome = cjson.encode({ result = 'dead', reason = reason, attempts = failures + deliveries })
    bury(keys, id, outcome, reason, tonumber(ARGV[4]))
    poisoned = poisoned + 1
  else
    -- Who leaves in order has not failed the job: that delivery doesn't count.
    local count = leaving and math.max(0, deliveries - 1) or deliveries
    local claimed = redis.call('XCLAIM', keys.jobs, 'processors', '@parked', 0, id, 'RETRYCOUNT', count, 'JUSTID')
    if #claimed > 0 then
      redis.call('ZADD', PARKED, whole(now_ms), id)
      recovered = recovered + 1
    else
      -- Deleted by hand: only the pending list still knows it.
      redis.call('XACK', keys.jobs, 'processors', id)
    end
  end
end
departed(keys, poisoned)
if recovered > 0 and not leaving then redis.call('HINCRBY', keys.tally, 'recovered', recovered) end
if #pending == most then return { 'more', recovered, poisoned } end
redis.call('XGROUP', 'DELCONSUMER', keys.jobs, 'processors', consumer)
return { 'gone', recovered, poisoned }
