-- List kind: there is no fair queuing.
local function nobodys_take_places()
  return false
end
