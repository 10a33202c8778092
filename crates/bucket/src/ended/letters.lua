-- Dead letters: stream dead, fields job, reason, outcome (the record), then the entry's own fields; hash letters, job
-- id → letter's id. Bounded by age, number and bytes, which the tally counts.
-- needs: constants, now, bytes

-- The bytes of a letter's names and values.
local function letter_bytes(fields)
  local bytes = 0
  for _, text in ipairs(fields) do bytes = bytes + #text end
  return bytes
end

local function delete_letter(keys, letter, fields)
  redis.call('XDEL', keys.dead, letter)
  local job = field(fields, 'job')
  if job then redis.call('HDEL', keys.letters, job) end
  count_bytes(keys, 'dead_bytes', -letter_bytes(fields))
end

-- Whether nothing may be buried until letters are deleted or replayed, or the bound is raised.
local function dead_is_full(keys)
  local keep = keys.keep
  return keep.holds and (redis.call('XLEN', keys.dead) >= keep.most_dead
    or tonumber(redis.call('HGET', keys.tally, 'dead_bytes') or 0) >= keep.dead_bytes)
end

-- One script deletes no more than BATCH_JOBS letters, nor many more bytes than it adds: each is read first.

-- Deletes the oldest letters, until `more` with this many bytes have room, and those beyond their age. A letter that is
-- larger than all letters may be is kept alone. How many there were.
local function drop_letters(keys, more, bytes)
  local keep = keys.keep
  local count = redis.call('XLEN', keys.dead)
  local held = tonumber(redis.call('HGET', keys.tally, 'dead_bytes') or 0)
  local dropped, freed = 0, 0
  local function is_beyond(letter)
    local died_ms = tonumber(string.match(letter, '^%d+'))
    local too_many = count + more > keep.most_dead or held + bytes > keep.dead_bytes
    return too_many and not keep.holds or died_ms <= now_ms - keep.dead_ms
  end
  while count > 0 and dropped < BATCH_JOBS and freed < math.max(bytes, BATCH_BYTES / 2) do
    local oldest = redis.call('XRANGE', keys.dead, '-', '+', 'COUNT', 1)[1]
    if not is_beyond(oldest[1]) then break end
    local size = letter_bytes(oldest[2])
    delete_letter(keys, oldest[1], oldest[2])
    count, held = count - 1, held - size
    dropped, freed = dropped + 1, freed + size
  end
  if dropped > 0 then redis.call('HINCRBY', keys.tally, 'dead_dropped', dropped) end
  return dropped
end
