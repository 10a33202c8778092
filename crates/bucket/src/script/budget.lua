-- Counts the bytes of entries that a script reads, against BATCH_BYTES (constants.rs).
-- Only entries that were added by hand are larger than LARGEST_FOREIGN: in a list, a byte of a body takes at most six.
-- needs: constants
local LARGEST_FOREIGN = 8 * LARGEST_BODY
local bytes_read, largest_read = 0, 0
-- How many jobs a take may hand out or end, so that the outbox has room for their outcomes (outcome_jobs.lua).
local outcome_room = math.huge

-- Counts entries by the bytes of all, and those of the largest.
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

-- Whether another entry may be read. Its size isn't known yet, so that of the largest one is assumed. The first one is
-- always read.
local function may_read()
  return bytes_read + largest_read <= BATCH_BYTES
end
