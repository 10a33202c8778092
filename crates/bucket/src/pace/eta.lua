-- Estimates how long jobs wait, from the pace and from the measured leak: the rate at which jobs leave the bucket.
-- needs: now, counts, rules/eta, kind/jobs

-- The current pace, for the functions below; nil without a pace.
local function pace_look(pace, plan)
  if plan == '' then return nil end
  return limit_pace_state(plan, { begins = pace.new, speed = pace.speed })
end

-- A call that may be made now is made within the interval of calls, but at most within this many µs.
local MOMENT = 250000
-- µs added because a replica waits for several tokens (take.lua), and has to wake up for them.
local WAKING = 10000

local function wait_for_calls(look, jobs)
  if not look then return 0 end
  local wait = limit_pace_wait(look, jobs)
  for _, bucket in ipairs(look.buckets) do
    wait = math.max(wait, math.min(MOMENT, jobs * bucket.period / bucket.limit))
  end
  return wait > 0 and wait + WAKING or 0
end

-- No job leaves a paused bucket, for an unknown time. This is the minimum of the estimate then, in µs.
local PAUSED = 1000000

-- µs until the bucket is no longer throttled. Meanwhile tokens are earned, but no job leaves.
local function wait_for_throttle(pace)
  return math.max(0, pace.hold * 1000 - now_us)
end

-- µs until `jobs` of the `level` jobs have left the bucket, by the slower of pace and measured leak. If no job has left
-- since the measurement began, its duration is the estimate, unless all jobs are parked. Jobs that a throttle has
-- parked are due at its end, so that time is counted once.
local function wait_for_room(meter, pace, look, level, jobs)
  local due, is_parked = wait_until_due(level, jobs)
  local wait, m = wait_for_calls(look, jobs), not is_parked and rates.read(meter, 'leak')
  if m then
    local elapsed = math.max(1, now_us - m.t0)
    local left = m.c - m.c0
    local measured = left > 0 and jobs * elapsed / left or elapsed
    if measured > wait then wait = measured end
  end
  if pace.flows then wait = math.max(wait, wait_for_flows(jobs)) end
  wait = math.max(wait + wait_for_throttle(pace), due)
  -- A job leaves only after its call and its settlement.
  if rates.texts.call == nil then rates.look(meter, 'call') end
  wait = wait + (tonumber(rates.texts.call or nil) or 0)
  return pace.is_paused and math.max(wait, PAUSED) or wait
end

-- µs until `excess` more bytes are free, if all jobs have the mean size.
local function wait_for_bytes(meter, pace, look, level, bytes, excess)
  local leaving = math.min(level, math.ceil(excess * level / math.max(1, bytes)))
  return wait_for_room(meter, pace, look, level, math.max(1, leaving))
end

-- The measured leak: µs, and the jobs that have left in this time. 0 and 1 if it isn't known.
local function measured_leak(meter)
  local m = rates.read(meter, 'leak')
  if not m or m.c <= m.c0 then return 0, 1 end
  return math.max(1, now_us - m.t0), m.c - m.c0
end

-- µs until a job with `ahead` jobs before it is called.
local function wait_for_turn(meter, pace, look, ahead)
  local wait = look and limit_pace_wait(look, ahead + 1) or 0
  if ahead > 0 then
    local leak_us, left = measured_leak(meter)
    local measured = ahead * leak_us / left
    if measured > wait then wait = measured end
  end
  return wait + wait_for_throttle(pace)
end
