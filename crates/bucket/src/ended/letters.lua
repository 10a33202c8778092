-- Dead letters: stream dead, fields job, reason, outcome (the record), then the entry's own fields; hash letters, job
-- id → letter's id; zset sizes, "<letter's id> <bytes> <job id>" by ms of its death. By that the oldest ones are
-- deleted without being read: handing 1 MiB to a script takes Redis a millisecond.
-- needs: now

-- The bytes of a letter's names and values.
local function letter_bytes(fields)
  local bytes = 0
  for _, text in ipairs(fields) do bytes = bytes + #text end
  return bytes
end

local function died_ms(letter)
  return tonumber(string.match(letter, '^%d+'))
end

local function size_member(letter, bytes, job)
  return letter .. ' ' .. whole(bytes) .. ' ' .. job
end

local function index_letter(keys, letter, bytes, job)
  redis.call('HSET', keys.letters, job, letter)
  redis.call('ZADD', keys.sizes, died_ms(letter), size_member(letter, bytes, job))
end

-- Whether it was there: somebody may have deleted it by hand.
local function delete_letter(keys, letter, bytes, job)
  redis.call('HDEL', keys.letters, job)
  redis.call('ZREM', keys.sizes, size_member(letter, bytes, job))
  return redis.call('XDEL', keys.dead, letter) == 1
end

-- Its id, bytes and job; nil where none is left. One that an earlier version buried has no size: it is read.
local function oldest_letter(keys)
  if redis.call('ZCARD', keys.sizes) < redis.call('XLEN', keys.dead) then
    local letter, fields = unpack(redis.call('XRANGE', keys.dead, '-', '+', 'COUNT', 1)[1])
    return letter, letter_bytes(fields), field(fields, 'job') or letter
  end
  local member = redis.call('ZRANGE', keys.sizes, 0, 0)[1]
  if not member then return nil end
  local letter, bytes, job = string.match(member, '^(%S+) (%d+) (.*)$')
  return letter, tonumber(bytes), job
end
