-- Stream kind: a job is its entry's flat list of names and values.
-- needs: now

-- The entry of a job; empty if somebody deleted it by hand.
local function entry_of(jobs, id)
  local found = redis.call('XRANGE', jobs, id, id)[1]
  return found and found[2] or {}
end

-- The value of an optional field; nil if absent or empty. Optional fields follow those that each job has, of which `v`
-- is the last (FIELDS in the job crate).
local function option(entry, name)
  for i = entry[7] == 'v' and 9 or 1, #entry, 2 do
    if entry[i] == name then return entry[i + 1] ~= '' and entry[i + 1] or nil end
  end
  return nil
end

-- The bytes of a plain job without its field names; nil if it has an optional field other than the caller.
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

-- The bytes that an entry counts against `capacity_bytes`: as `entry::counted_bytes` in the job crate. Entries of a
-- plain XADD count 0.
local function counted_bytes(entry)
  local size, ours = 0, false
  for i = 1, #entry, 2 do
    if entry[i] == 'v' then ours = true end
    if entry[i] ~= 'due' and entry[i] ~= 'expires' then size = size + #entry[i + 1] end
  end
  return ours and size or 0
end
