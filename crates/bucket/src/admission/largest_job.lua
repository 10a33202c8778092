-- The largest job that was admitted since the bucket was empty, by which a take knows how many it may read at once:
-- field `largest` of the tally, in bytes as the bucket counts them. Missing: not known.
-- needs: now

-- `text`: the field as it was read.
local function read_largest(text)
  return { bytes = tonumber(text or nil), changed = false }
end

-- A job of `size` bytes comes; `level` are there. Of what came before the field was there nothing is known.
local function note_largest(largest, level, size)
  if level == 0 and largest.bytes ~= size or largest.bytes and size > largest.bytes then
    largest.bytes, largest.changed = size, true
  end
end

local function write_largest(tally, largest)
  if largest.changed then redis.call('HSET', tally, 'largest', whole(largest.bytes)) end
end
