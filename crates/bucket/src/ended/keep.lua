-- What is kept of ended work: the outcomes of jobs, dead letters, and idempotency keys. Each is bounded by time, the
-- first two by number and bytes too, which the tally counts.
-- needs: now

-- The bounds, as settings.rs packs them in `keys.keep`: read where they are needed. Most scripts need none, or those of
-- outcomes.
local kept, kept_outcomes
local function keep_of(keys)
  if kept then return kept end
  local n = { string.match(keys.keep, '^' .. string.rep('(%d+) ', 9) .. '(%d+)') }
  kept = {
    holds = n[1] == '1', dead_ms = tonumber(n[5]), most_dead = tonumber(n[6]), dead_bytes = tonumber(n[7]),
    keys_ms = tonumber(n[8]), failed = tonumber(n[9]), most_failed = tonumber(n[10]),
  }
  return kept
end

-- `before`: the ms up to which outcomes are too old; the most of them, and of their bytes.
local function keep_of_outcomes(keys)
  if not kept_outcomes then
    local ms, most, bytes = string.match(keys.keep, '^%d (%d+) (%d+) (%d+)')
    kept_outcomes = { before = now_ms - ms, most = tonumber(most), bytes = tonumber(bytes) }
  end
  return kept_outcomes
end

-- Adds to a counter of bytes in the tally (bytes, of the jobs; outcomes_bytes; dead_bytes), or takes off. Never below
-- 0: what an earlier version wrote, or Redis lost, isn't counted.
local function count_bytes(keys, counter, bytes)
  if bytes == 0 then return end
  if redis.call('HINCRBY', keys.tally, counter, whole(bytes)) < 0 then redis.call('HSET', keys.tally, counter, 0) end
end

-- The bytes of the names and values of a letter, or an outcome job.
local function letter_bytes(fields)
  local bytes = 0
  for _, text in ipairs(fields) do bytes = bytes + #text end
  return bytes
end

-- An idempotency key names its job for as long as that is in the bucket, and from its end on for the window: hash
-- keyed_jobs, job id → name of its key; zset key_ends, name → ms at which it is forgotten. `keys.keys_ms`: the window,
-- where the script has no other bounds. Whether there are any; nil: not looked yet.
local has_keys
local function end_key(keys, id)
  if has_keys == nil then has_keys = redis.call('HLEN', keys.keyed_jobs) > 0 end
  local name = has_keys and redis.call('HGET', keys.keyed_jobs, id)
  if not name then return end
  redis.call('HDEL', keys.keyed_jobs, id)
  redis.call('ZADD', keys.key_ends, whole(now_ms + (keys.keys_ms or keep_of(keys).keys_ms)), name)
end

-- Forgets the oldest outcomes that are too old, too many or too large together. `recorded`: how many this script
-- records; `count`, `bytes`: what there is of them now; `any_old`: false where none is too old. How many it has
-- forgotten, and the bytes of these.
local function forget_outcomes(keys, recorded, count, bytes, any_old)
  local keep = keep_of_outcomes(keys)
  if any_old == false and count <= keep.most and bytes <= keep.bytes then return 0, 0 end
  -- Outcomes that one script forgets beyond twice those it records: bounded, and more than are added.
  local FORGOTTEN = 200
  -- Arguments of one command: Lua unpacks no more than some thousands.
  local AT_ONCE = 1000
  local function is_beyond(ended_ms)
    return tonumber(ended_ms) <= keep.before or count > keep.most or bytes > keep.bytes
  end
  -- Texts are read to know their bytes, by one command for several instead of one HSTRLEN for each. Long ones aren't.
  local READ_AT_ONCE, READ_BYTES = 32, 65536
  local most, kept_bytes, old, read = FORGOTTEN + 2 * recorded, bytes, {}, 0
  -- As a rule as many are forgotten as are recorded.
  local at_once = recorded > 0 and math.min(READ_AT_ONCE, recorded) or READ_AT_ONCE
  -- 0 where Redis lost it.
  local function sizes_of(ids)
    local sizes = {}
    if #ids > 1 and read + #ids * bytes / math.max(1, count) <= READ_BYTES then
      for i, text in ipairs(redis.call('HMGET', keys.outcomes, unpack(ids))) do
        sizes[i] = text and #text or 0
        read = read + sizes[i]
      end
    else
      for i, id in ipairs(ids) do sizes[i] = redis.call('HSTRLEN', keys.outcomes, id) end
    end
    return sizes
  end
  -- Of the ids that ended together, those that stay.
  local function forget_of(member, ended_ms)
    local from = 1
    while true do
      local ids, behind = {}, {}
      for id, past in string.gmatch(string.sub(member, from), '(%S+) ?()') do
        ids[#ids + 1], behind[#ids + 1] = id, past
        if #ids == at_once then break end
      end
      if #ids == 0 then return '' end
      for i, size in ipairs(sizes_of(ids)) do
        if #old >= most or not is_beyond(ended_ms) then return string.sub(member, from + (behind[i - 1] or 1) - 1) end
        old[#old + 1] = ids[i]
        if size > 0 then count, bytes = count - 1, bytes - size end
      end
      from = from + behind[#ids] - 1
    end
  end
  while #old < most do
    local oldest = redis.call('ZRANGE', keys.ended, 0, 0, 'WITHSCORES')
    if not oldest[2] or not is_beyond(oldest[2]) then break end
    local stay = forget_of(oldest[1], oldest[2])
    redis.call('ZREM', keys.ended, oldest[1])
    if stay ~= '' then
      redis.call('ZADD', keys.ended, oldest[2], stay)
      break
    end
  end
  for first = 1, #old, AT_ONCE do
    redis.call('HDEL', keys.outcomes, unpack(old, first, math.min(#old, first + AT_ONCE - 1)))
  end
  return #old, kept_bytes - bytes
end

-- Whether nothing may be buried until letters are deleted or replayed, or the bound is raised.
local function dead_is_full(keys)
  if string.byte(keys.keep) ~= string.byte('1') then return false end
  local keep = keep_of(keys)
  return (redis.call('XLEN', keys.dead) >= keep.most_dead
    or tonumber(redis.call('HGET', keys.tally, 'dead_bytes') or 0) >= keep.dead_bytes)
end
