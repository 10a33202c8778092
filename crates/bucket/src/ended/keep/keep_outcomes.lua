-- How many outcomes are kept, and how long: the first bounds of those that keep.lua reads.
-- needs: now

local kept_outcomes

-- `before`: the ms up to which outcomes are too old; the most of them, and of their bytes.
local function keep_of_outcomes(keys)
  if not kept_outcomes then
    local ms, most, bytes = string.match(keys.keep, '^%d (%d+) (%d+) (%d+)')
    kept_outcomes = { before = now_ms - ms, most = tonumber(most), bytes = tonumber(bytes) }
  end
  return kept_outcomes
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
