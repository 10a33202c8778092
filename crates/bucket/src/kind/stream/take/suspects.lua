-- Stream kind: suspects are jobs of which one may kill its replica (recover.lua). A replica has one of them at a time,
-- however late its takes are and however long its calls: so the last deliveries kill only that job.
-- needs: constants, now, kind/give, kind/pending

local may_hand_out
do
  local PARKED = KEYS[#KEYS - 2]
  -- The time between suspects that are delayed, in ms: the minimum of recover.lua.
  local SUSPECT_GAP = 500

  -- From the hash of the pace: the maximum deliveries, and the suspects in flight; whether this replica has one, and
  -- how many this take has delayed.
  local suspects

  local function read(keys, consumer)
    local most, ids = string.match(keys.pace_found.suspects, '^(%d+)(.*)$')
    local found = { most = tonumber(most) or math.huge, in_flight = {}, has_one = false, put_off = 0 }
    for id in string.gmatch(ids or '', '%S+') do
      local owner = owner_of(keys.jobs, id)
      if owner and owner ~= PARKED_OWNER then
        found.in_flight[#found.in_flight + 1] = id
        found.has_one = found.has_one or owner == consumer
      end
    end
    return found
  end

  -- Whether this replica may have a job with this number of deliveries. If not, the job is parked again.
  function may_hand_out(keys, consumer, id, deliveries)
    suspects = suspects or read(keys, consumer)
    if deliveries * 2 <= suspects.most then return true end
    if suspects.has_one then
      suspects.put_off, put_aside = suspects.put_off + 1, put_aside + 1
      redis.call('ZADD', PARKED, whole(now_ms + suspects.put_off * SUSPECT_GAP), id)
      return false
    end
    suspects.has_one, suspects.in_flight[#suspects.in_flight + 1] = true, id
    redis.call('HSET', keys.pace, 'suspects', whole(suspects.most) .. ' ' .. table.concat(suspects.in_flight, ' '))
    return true
  end
end
