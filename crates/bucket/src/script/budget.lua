-- Counts the bytes of entries that a script reads, against BATCH_BYTES (constants.rs).
-- What others add by hand may be so large; no job of ours is, not even in a list, where a byte may be written as six.
-- needs: constants
local LARGEST_FOREIGN = 8 * LARGEST_BODY
local bytes_read, largest_read = 0, 0
-- How many jobs a take may hand out or end, for the room that the outbox has (outcome_jobs.lua).
local outcome_room = math.huge

-- Of entries that have been read: their bytes together, and those of the largest.
local function count_sizes(bytes, largest)
  bytes_read = bytes_read + bytes
  if largest > largest_read then largest_read = largest end
end

-- `entry`: a flat list of names and values, or one text. Returns its size.
local function count_read(entry)
  local size = 0
  if type(entry) == 'string' then
    size = #entry
  else
    for i = 1, #entry do size = size + #entry[i] end
  end
  count_sizes(size, size)
  return size
end

-- Whether there is room for another entry. Its size isn't known before it is read: it is expected to be as large as the
-- largest so far. The first one is always read.
local function may_read()
  return bytes_read + largest_read <= BATCH_BYTES
end
