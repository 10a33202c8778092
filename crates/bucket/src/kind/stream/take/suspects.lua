-- Stream kind: of jobs that died together time and again, one may kill its replica (recover.lua). Each replica has one
-- of them at a time, however late it asks and however long its calls take: then the last deliveries kill one job alone.
-- needs: constants, now, kind/give, kind/pending

local may_hand_out
do
  local PARKED = KEYS[#KEYS - 2]
  -- How long after each other those are due that are put off, in ms: the least that recover.lua leaves between them.
  local SUSPECT_GAP = 500

  -- As the hash of the pace has them: of how many deliveries, and which may be in flight; whether this replica has one,
  -- and how many this take has put off.
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

  -- Whether this replica may have a job that was handed out `deliveries` times; else the job is due later.
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
