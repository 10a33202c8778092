-- List kind: nothing is parked.
local function wait_until_due(_, _)
  return 0
end
