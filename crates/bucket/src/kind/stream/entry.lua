-- Stream kind: a job is its entry's flat list of names and values.
-- needs: now

-- What the stream holds under an id; empty for a job that somebody deleted by hand.
local function entry_of(jobs, id)
  local found = redis.call('XRANGE', jobs, id, id)[1]
  return found and found[2] or {}
end

-- The value of a field that few jobs have; nil when absent or empty. Those come behind the ones that each has, of which
-- `v` is the last (FIELDS in the job crate).
local function option(entry, name)
  for i = entry[7] == 'v' and 9 or 1, #entry, 2 do
    if entry[i] == name then return entry[i + 1] ~= '' and entry[i + 1] or nil end
  end
  return nil
end

-- The bytes of a job that has none of these but a caller, neither times nor what decides whose turn it is, without its
-- names, which are known; nil: it is another.
local function plain_size(entry)
  local members = #entry
  if members ~= 8 and (members ~= 10 or entry[9] ~= 'caller') then return nil end
  if entry[7] ~= 'v' or entry[1] ~= 'body' or entry[3] ~= 'content_type' or entry[5] ~= 'sum' then return nil end
  local size = #entry[2] + #entry[4] + #entry[6] + #entry[8]
  return members == 10 and size + #entry[10] or size
end

-- The fields of its dead letter.
local function letter_fields(entry)
  return entry
end

local function caller_of(entry)
  local caller = field(entry, 'caller')
  return caller and (#caller <= LONGEST_CALLER and caller or cut_caller(caller))
end

-- What an entry counted against the bucket's bytes: as `entry::counted_bytes` in the job crate. Foreign entries count
-- nothing.
local function counted_bytes(entry)
  local size, ours = 0, false
  for i = 1, #entry, 2 do
    if entry[i] == 'v' then ours = true end
    if entry[i] ~= 'due' and entry[i] ~= 'expires' then size = size + #entry[i + 1] end
  end
  return ours and size or 0
end
