-- List kind: as of a stream, of one job of which `waiting` wait. Which are in flight isn't known without a search, and
-- none is ever parked.
local function look_at_pending(_, _, waiting)
  return waiting == 0, nil
end
