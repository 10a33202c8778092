-- Stream kind: removes jobs that aren't in flight, and calls record_end(id, entry, failed attempts, deliveries, whether
-- an attempt was recorded) for each. Returns how many were removed.
-- needs: constants, kind/leave
local function withdraw_moved(jobs, ids, _, record_end)
  local ended = 0
  for _, id in ipairs(ids) do
    local found = redis.call('XRANGE', jobs, id, id)[1]
    local pending = redis.pcall('XPENDING', jobs, GROUP, id, id, 1)
    pending = not pending.err and pending[1]
    if found and not (pending and pending[2] ~= PARKED_OWNER) then
      local counted = leave(id, found[2])
      record_end(id, found[2], tonumber(counted or nil) or 0, pending and pending[4] or 0, counted)
      ended = ended + 1
    end
  end
  return ended
end
