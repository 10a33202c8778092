-- List kind: there is no fair queuing, and there are no limits per caller.
local function takes_turns()
  return false
end

local function open_places() end

local function own_waits_by() end
