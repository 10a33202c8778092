-- The bounds of outcomes, the first of those in `keys.keep` (keep.lua), and the deletion of old outcomes.
-- needs: now

local kept_outcomes

-- `before`: the ms up to which outcomes are too old; `most`, `bytes`: the maximum of their number and bytes.
local function keep_of_outcomes(keys)
  if not kept_outcomes then
    local ms, most, bytes = string.match(keys.keep, '^%d (%d+) (%d+) (%d+)')
    kept_outcomes = { before = now_ms - ms, most = tonumber(most), bytes = tonumber(bytes) }
  end
  return kept_outcomes
end

-- The size of texts as a word of a member of `ended` (order.lua): '\t', and its digits in base 4 from '\n' to '\r'.
local function word_of(size)
  local digits = ''
  repeat
    local digit = size % 4
    digits, size = string.char(10 + digit) .. digits, (size - digit) / 4
  until size == 0
  return '\t' .. digits
end

-- Deletes the oldest outcomes that are too old, too many or too large together. `recorded`: how many this script
-- records; `count`, `bytes`: of all outcomes now; `any_old`: false if none is too old. Returns the number and bytes of
-- the deleted ones.
local function forget_outcomes(keys, recorded, count, bytes, any_old)
  local keep = keep_of_outcomes(keys)
  local most, most_bytes = keep.most, keep.bytes
  if any_old == false and count <= most and bytes <= most_bytes then return 0, 0 end
  -- How many outcomes one script deletes in addition to twice those that it records: so more are deleted than added.
  local FORGOTTEN = 200
  -- The maximum of arguments of a command, as Lua can unpack only some thousands.
  local AT_ONCE = 1000
  local find, sub = string.find, string.sub
  local function size_of(word)
    local size = 0
    for i = 2, #word do size = 4 * size + string.byte(word, i) - 10 end
    return size
  end
  local all, kept_bytes = FORGOTTEN + 2 * recorded, bytes
  local left = all
  while left > 0 do
    local member, score = unpack(redis.call('ZRANGE', keys.ended, '0', '0', 'WITHSCORES'))
    local is_old = member and tonumber(score) <= keep.before
    if not member or not (is_old or count > most or bytes > most_bytes) then break end
    local ids, chosen, before, from = {}, 0, count, 1
    -- Searching one character is faster than a pattern.
    local size, size_at = nil, find(member, '\t', 1, true)
    while from <= #member do
      local behind = find(member, ' ', from, true) or #member + 1
      local word = sub(member, from, behind - 1)
      if from == size_at then
        size, size_at = size_of(word), find(member, '\t', behind, true)
      elseif chosen == left or chosen == AT_ONCE or not (is_old or count > most or bytes > most_bytes) then
        break
      else
        chosen = chosen + 1
        ids[chosen] = word
        -- Without a size, Redis returns 0 for an outcome that doesn't exist.
        local freed = size or redis.call('HSTRLEN', keys.outcomes, word)
        if freed > 0 then count, bytes = count - 1, bytes - freed end
      end
      from = behind + 1
    end
    redis.call('ZREM', keys.ended, member)
    if from <= #member then
      redis.call('ZADD', keys.ended, score, (size and word_of(size) .. ' ' or '') .. sub(member, from))
    end
    -- Counts only outcomes that existed, as somebody may have deleted some by hand.
    if chosen > 0 then count = before - redis.call('HDEL', keys.outcomes, unpack(ids)) end
    left = left - chosen
  end
  return all - left, kept_bytes - bytes
end
