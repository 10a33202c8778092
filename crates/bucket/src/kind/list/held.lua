-- List kind: jobs that are claimed. The hash `takers` has how many each replica holds; a job that one holds is an
-- element of its own list, the latest at its head. Scripts are given the element.
--
-- What takes from a list comes before what adds to one: at maxmemory a script may go on once it has written something
-- that needs no memory. That is why nothing here is an LMOVE.
-- needs: notices, kind/entry, kind/jobs

-- Before `takers` in KEYS, and the first of ARGV, where a script is given what a replica holds.
local TAKEN, HOLDER = KEYS[#KEYS - 1], ARGV[1]

-- As of a stream: there is nothing.
local function held_keys() end

-- As check_types in record.lua.
local function check_held()
  redis.call('LLEN', TAKEN)
  redis.call('HLEN', TAKERS)
end

local function ack_and_delete(_, elements)
  for _, element in ipairs(elements) do redis.call('LREM', TAKEN, -1, element) end
  redis.call('HSET', TAKERS, HOLDER, redis.call('LLEN', TAKEN))
end

-- To the tail of the jobs, where the next are taken; false for an element that somebody removed by hand.
local function requeue(keys, element, deliveries, throttled)
  local removed = redis.call('LREM', TAKEN, 1, element)
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

-- A list can't park: what is put back is next. No failure is counted; `counts` as of a stream.
local function put_back(keys, element, _, counts)
  return requeue(keys, element, 0, counts == 0)
end

-- Nothing is kept of a job between attempts: the first that fails ends it.
local function failed_of(_)
  return false
end

local function write_failed(_, _, _) end

local function forget_failed(_) end

-- A list can't park: its letters never hold it.
local function keep_unburied(keys, element)
  return put_back(keys, element)
end
