-- Limits the payload of a job that is returned.
-- needs: budget

-- Returns 1 if the entry was cut, else 0, and the names and values of its first fields. Only entries that were added by
-- hand are cut: a job of the bucket always fits, also as the longer text of a list's element.
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
