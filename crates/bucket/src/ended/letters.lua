-- Dead letters: stream dead, with the fields job, reason, outcome (the record), then those of the job's entry; hash
-- letters, job id → letter's id; zset sizes, "<letter's id> <bytes> <job id>" by ms of its death, by which the oldest
-- are deleted without being read, as reading 1 MiB takes a millisecond.
-- needs: constants, now, counts, keep

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

-- Returns whether the letter existed: somebody may have deleted it by hand.
local function delete_letter(keys, letter, bytes, job)
  redis.call('HDEL', keys.letters, job)
  redis.call('ZREM', keys.sizes, size_member(letter, bytes, job))
  return redis.call('XDEL', keys.dead, letter) == 1
end

-- The oldest letter's id, bytes and job, or nil. A letter of an earlier version has no size, so it is read.
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

-- Deletes a letter whose fields are known.
local function remove_letter(keys, letter, fields)
  local bytes = letter_bytes(fields)
  delete_letter(keys, letter, bytes, field(fields, 'job') or letter)
  count_bytes(keys, 'dead_bytes', -bytes)
end

-- Deletes letters that are too old, and the oldest ones until there is room for `more` letters of `bytes`; in one
-- script at most BATCH_JOBS, and not many more bytes than it adds. A letter that is larger than the bound is kept as
-- the only one. Returns the number of deleted letters.
local function drop_letters(keys, more, bytes)
  local keep = keep_of(keys)
  local count = redis.call('XLEN', keys.dead)
  local held = tonumber(redis.call('HGET', keys.tally, 'dead_bytes') or nil) or 0
  local dropped, freed = 0, 0
  local function is_beyond(letter)
    local too_many = count + more > keep.most_dead or held + bytes > keep.dead_bytes
    return too_many and not keep.holds or died_ms(letter) <= now_ms - keep.dead_ms
  end
  for _ = 1, BATCH_JOBS do
    if freed >= math.max(bytes, BATCH_BYTES / 2) then break end
    local letter, size, job = oldest_letter(keys)
    if not letter or not is_beyond(letter) then break end
    -- Also subtracts a letter that somebody deleted by hand, as it is still counted.
    held, freed = held - size, freed + size
    if delete_letter(keys, letter, size, job) then count, dropped = count - 1, dropped + 1 end
  end
  count_bytes(keys, 'dead_bytes', -freed)
  if dropped > 0 then count_up(keys.tally, 'dead_dropped', dropped) end
  return dropped
end
