-- List kind: claimed jobs that stay in the bucket.
-- needs: notices, kind/entry, kind/held

-- Moves a claimed element to the tail of the jobs, from which the next ones are taken. Returns false if somebody
-- removed it by hand.
local function requeue(keys, element, deliveries, throttled)
  -- Fails before the first write if this key has another type.
  redis.call('LLEN', keys.jobs)
  local removed = redis.call('LREM', TAKEN, '1', element)
  if removed > 0 then
    local head = read_head(element)
    local rest
    if head.deliveries ~= deliveries or throttled and not head.throttled then
      rest = string.sub(element, head.at)
      head.deliveries, head.throttled = deliveries, head.throttled or throttled
    end
    local waiting = redis.call('RPUSH', keys.jobs, rest and make_element(head, rest) or element)
    if waiting == 1 then publish_jobs(keys.notices) end
  end
  redis.call('HSET', TAKERS, HOLDER, redis.call('LLEN', TAKEN))
  return removed > 0
end

-- As for a stream, but a list can't park: these jobs are taken next. Failures aren't counted.
local function put_back(keys, jobs)
  for _, job in ipairs(jobs) do job.is_there = requeue(keys, job.name, 0, job.counts == 0) end
end

-- Failed attempts aren't kept, because the first one ends the job.
local function failed_of(_)
  return false
end

local function write_failed(_, _, _) end

local function forget_failed(_) end

-- A list can't park dead jobs, so they can't wait for room among the dead letters.
local waits_for_letter = false

local function keep_unburied(keys, element)
  return requeue(keys, element, 0)
end
