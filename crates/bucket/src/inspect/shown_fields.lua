-- What is shown of a job's payload.
-- needs: budget

-- '1' if somebody else wrote more than is shown, and the first fields of an entry: names and values. Of our own jobs
-- all is shown, also in a list, where it may be longer as text.
local function shown_fields(entry)
  local MOST_FIELDS, room = 100, LARGEST_FOREIGN
  local fields, is_cut = {}, #entry > 2 * MOST_FIELDS
  for i = 1, math.min(#entry, 2 * MOST_FIELDS) do
    local text = string.sub(entry[i], 1, room)
    room = room - #text
    is_cut = is_cut or #text < #entry[i]
    fields[i] = text
  end
  return is_cut and 1 or 0, fields
end
