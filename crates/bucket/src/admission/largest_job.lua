-- The size of the largest job that was admitted since the bucket was empty, in counted bytes: field `largest` of the
-- tally, missing if it isn't known. It bounds how many jobs a take reads at once.
-- needs: now

-- `text`: the value of the field.
local function read_largest(text)
  return { bytes = tonumber(text or nil), changed = false }
end

-- Notes a job of `size` bytes, added to `level` jobs. Creates the field only if the bucket was empty, as the size of
-- earlier jobs isn't known.
local function note_largest(largest, level, size)
  if level == 0 and largest.bytes ~= size or largest.bytes and size > largest.bytes then
    largest.bytes, largest.changed = size, true
  end
end

local function write_largest(tally, largest)
  if largest.changed then redis.call('HSET', tally, 'largest', whole(largest.bytes)) end
end
