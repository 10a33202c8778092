-- List kind: all wait in one line.
local function open_places()
  return nil
end
