-- For batches of schedules: wraps `admit` and `write` so that a job is admitted only if its tick is the next one.
-- needs: repeated, ticks
return function(admit, write)
  -- `once` exists, because each job of a tick has an idempotency key.
  local ticks, job = open_ticks(ARGV[14], once.has), 0

  local function admit_of_tick(size, first, extras, plan, passes)
    job = job + 1
    local gone = ticks.refuse(job)
    if gone then return gone end
    local answer, eta, states = admit(size, first, extras, plan, passes)
    if eta then
      ticks.done('admitted', answer)
    else
      ticks.done(answer[1], answer[2])
    end
    return answer, eta, states
  end

  return admit_of_tick, function()
    write()
    ticks.write()
  end
end
