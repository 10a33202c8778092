-- List kind: all wait in one line, and nobody has a rate alone.
local function takes_turns()
  return false
end

local function open_places() end

local function own_waits_by() end
