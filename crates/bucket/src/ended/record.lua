-- Records how jobs ended: hash outcomes, job id → 'ms record'; zset ended, job id by ms; both bounded by time, number and
-- bytes, which the tally counts.

-- What is kept, as keep.rs writes it.
local function read_keep(text)
  local n = {}
  for number in string.gmatch(text, '%d+') do n[#n + 1] = tonumber(number) end
  return {
    outcomes_ms = n[1], most_outcomes = n[2], outcomes_bytes = n[3], dead_ms = n[4], most_dead = n[5], dead_bytes = n[6],
    keys_ms = n[7], holds = n[8] == 1,
  }
end

-- An idempotency key names its job for as long as that is in the bucket, and from its end on for the window: hash keyed_jobs,
-- job id → name of its key; zset key_ends, name → ms at which it is forgotten.
local has_keys
local function end_key(keys, id)
  if has_keys == nil then has_keys = redis.call('HLEN', keys.keyed_jobs) > 0 end
  local name = has_keys and redis.call('HGET', keys.keyed_jobs, id)
  if not name then return end
  redis.call('HDEL', keys.keyed_jobs, id)
  redis.call('ZADD', keys.key_ends, whole(now_ms + keys.keep.keys_ms), name)
end

local recorded, recorded_bytes = 0, 0

-- Call it after the job has left the bucket, which gets back its bytes and its caller's place. `caller` may be nil.
local function record(keys, id, outcome, result, size, caller)
  local text = whole(now_ms) .. ' ' .. outcome
  redis.call('HSET', keys.outcomes, id, text)
  redis.call('ZADD', keys.ended, whole(now_ms), id)
  redis.call('HINCRBY', keys.tally, result, 1)
  note_end(id)
  end_key(keys, id)
  recorded, recorded_bytes = recorded + 1, recorded_bytes + #text
  if size > 0 then
    -- Of a job that Redis lost, nothing was counted any more.
    count_bytes(keys, 'bytes', -size)
    count_held(caller, -1)
  end
end

-- The record of a job that ends without its upstream. `caller` and `reason` may be nil.
local function outcome_of(result, reason, attempts, caller)
  return cjson.encode({ result = result, reason = reason, attempts = attempts, caller = caller })
end

-- `deliveries`: to replicas that died with the job, each of which may have called; `throttled`: whether a call was, which counts
-- as no attempt and yet was made.
local function record_expired(keys, id, deliveries, throttled, size, caller)
  local attempts, reason = 0, 'not started before its deadline'
  if deliveries > 0 then
    attempts, reason = deliveries, 'its deadline passed after a replica had died with it'
  elseif throttled then
    attempts, reason = 1, 'its deadline passed while its upstream throttled it'
  end
  record(keys, id, outcome_of('expired', reason, attempts, caller), 'expired', size, caller)
end

-- The record of what somebody else has added and no replica could be submitted time. It isn't kept: that would take as long.
local function record_too_large(keys, id, bytes)
  local reason = 'its ' .. whole(bytes) .. ' bytes are too many to be handed out, and were not kept'
  record(keys, id, outcome_of('dead', reason, 0, nil), 'dead', 0, nil)
end

-- Outcomes that one script forgets beyond twice those it records: bounded, and more than are added.
local FORGOTTEN = 200
-- Arguments of one command: Lua unpacks no more than some thousands.
local AT_ONCE = 1000

-- Forgets the oldest outcomes that are too old, too many or too large together. How many there were.
local function forget_outcomes(keys)
  local keep = keys.keep
  local count = redis.call('ZCARD', keys.ended)
  local bytes = tonumber(redis.call('HGET', keys.tally, 'outcomes_bytes') or 0)
  local before = now_ms - keep.outcomes_ms
  local function is_beyond(ended_ms)
    return tonumber(ended_ms) <= before or count > keep.most_outcomes or bytes > keep.outcomes_bytes
  end
  local oldest = redis.call('ZRANGE', keys.ended, 0, 0, 'WITHSCORES')
  if not oldest[2] or not is_beyond(oldest[2]) then return 0 end
  local held, old = bytes, {}
  local found = redis.call('ZRANGE', keys.ended, 0, FORGOTTEN + 2 * recorded - 1, 'WITHSCORES')
  for i = 1, #found, 2 do
    if not is_beyond(found[i + 1]) then break end
    old[#old + 1] = found[i]
    count = count - 1
    bytes = bytes - redis.call('HSTRLEN', keys.outcomes, found[i])
  end
  for first = 1, #old, AT_ONCE do
    local last = math.min(#old, first + AT_ONCE - 1)
    redis.call('ZREM', keys.ended, unpack(old, first, last))
    redis.call('HDEL', keys.outcomes, unpack(old, first, last))
  end
  count_bytes(keys, 'outcomes_bytes', bytes - held)
  return #old
end

-- Jobs have left the bucket, all that the script records: its measured leak, what their callers hold, and what is forgotten
-- for them.
local function departed(keys, jobs)
  if jobs == 0 then return end
  write_holders(keys.holders)
  meter_count(keys.meter, 'settled', jobs)
  meter_count(keys.meter, 'leak', jobs)
  publish_ends(keys.notices)
  count_bytes(keys, 'outcomes_bytes', recorded_bytes)
  forget_outcomes(keys)
end
