-- List kind: claimed jobs that stay in the bucket.
-- needs: notices, kind/entry, kind/held

-- To the tail of the jobs, where the next are taken; false for an element that somebody removed by hand.
local function requeue(keys, element, deliveries, throttled)
  -- What is of another type is found before anything is written.
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

-- As of a stream. A list can't park: what is put back is next. No failure is counted.
local function put_back(keys, jobs)
  for _, job in ipairs(jobs) do job.is_there = requeue(keys, job.name, 0, job.counts == 0) end
end

-- Nothing is kept of a job between attempts: the first that fails ends it.
local function failed_of(_)
  return false
end

local function write_failed(_, _, _) end

local function forget_failed(_) end

-- As of a stream. A list can't park: its letters never hold it.
local waits_for_letter = false

local function keep_unburied(keys, element)
  return requeue(keys, element, 0)
end
