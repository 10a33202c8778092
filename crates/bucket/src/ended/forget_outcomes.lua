-- Forgets the oldest outcomes that are too old, too many or too large together.
-- needs: now, bytes

-- Outcomes that one script forgets beyond twice those it records: bounded, and more than are added.
local FORGOTTEN = 200
-- Arguments of one command: Lua unpacks no more than some thousands.
local AT_ONCE = 1000

-- `recorded`: how many this script records. How many it has forgotten.
local function forget_outcomes(keys, recorded)
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
