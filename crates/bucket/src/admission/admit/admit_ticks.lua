-- For batches of schedules: how a job is admitted, which is for a tick, by `admit`; and what is to be written then.
-- needs: repeated, ticks
return function(admit, write)
  -- Each job of a tick has a key.
  local ticks, job = open_ticks(ARGV[14], once.has), 0

  local function admit_of_tick(size, first, besides, plan, passes)
    job = job + 1
    local gone = ticks.refuse(job)
    if gone then return gone end
    local judged, eta, states = admit(size, first, besides, plan, passes)
    if eta then
      ticks.done('admitted', judged)
    else
      ticks.done(judged[1], judged[2])
    end
    return judged, eta, states
  end

  return admit_of_tick, function()
    write()
    ticks.write()
  end
end
