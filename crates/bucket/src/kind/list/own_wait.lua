-- List kind: all wait in one line, and nobody has a rate alone.
local function open_own_waits()
  return nil
end
