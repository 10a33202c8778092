-- Records how jobs ended: hash outcomes, job id → 'ms record'; zset ended, job id by ms; both bounded by time and number.

-- Call it after the job has left the bucket, which gets back its bytes and its caller's place. `caller` may be nil.
local function record(keys, id, outcome, result, size, caller)
  redis.call('HSET', keys.outcomes, id, whole(now_ms) .. ' ' .. outcome)
  redis.call('ZADD', keys.ended, whole(now_ms), id)
  redis.call('HINCRBY', keys.tally, result, 1)
  if size > 0 then
    -- Of a job that Redis lost, nothing was counted any more.
    if redis.call('HINCRBY', keys.tally, 'bytes', whole(-size)) < 0 then redis.call('HSET', keys.tally, 'bytes', 0) end
    count_held(caller, -1)
  end
end

-- The record of a job that ends without its upstream. `caller` and `reason` may be nil.
local function outcome_of(result, reason, attempts, caller)
  return cjson.encode({ result = result, reason = reason, attempts = attempts, caller = caller })
end

local function record_expired(keys, id, size, caller)
  record(keys, id, outcome_of('expired', 'not started before its deadline', 0, caller), 'expired', size, caller)
end

-- Forgets outcomes that are too old or too many; at most a few hundred a time, so that no script runs long.
local function forget_outcomes(keys, keep_ms, most)
  local excess = redis.call('ZCARD', keys.ended) - most
  local old = redis.call('ZRANGE', keys.ended, '-inf', whole(now_ms - keep_ms), 'BYSCORE', 'LIMIT', 0, 200)
  if excess > 0 and #old < excess then old = redis.call('ZRANGE', keys.ended, 0, math.min(excess, 200) - 1) end
  if #old > 0 then
    redis.call('ZREM', keys.ended, unpack(old))
    redis.call('HDEL', keys.outcomes, unpack(old))
  end
end

-- Jobs have left the bucket, all that the script records: its measured leak, and what their callers hold.
local function departed(keys, jobs)
  if jobs == 0 then return end
  write_holders(keys.holders)
  meter_count(keys.meter, 'settled', jobs)
  meter_count(keys.meter, 'leak', jobs)
end
