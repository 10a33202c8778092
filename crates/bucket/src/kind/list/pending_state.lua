-- List kind: as for a stream. `waiting`: number of waiting jobs. The job is taken for one in flight only if no job
-- waits, as finding out takes a search. No job is ever parked.
local function pending_state(_, _, waiting)
  return waiting == 0, nil
end
