-- List kind: a job that a replica holds is an element of the replica's own list, the latest at its head. Scripts are given
-- the element.
--
-- What takes from a list comes before what adds to one: at maxmemory a script may go on once it has written something that
-- needs no memory. That is why nothing here is an LMOVE.
local TAKEN = KEYS[#KEYS - 1]

local function withdraw(_, elements)
  for _, element in ipairs(elements) do redis.call('LREM', TAKEN, -1, element) end
  redis.call('HSET', TAKERS, ARGV[1], redis.call('LLEN', TAKEN))
end

-- To the tail of the jobs, where the next are taken; false for an element that somebody removed by hand.
local function release(keys, element, deliveries)
  local removed = redis.call('LREM', TAKEN, 1, element)
  if removed > 0 then
    local head = read_head(element)
    local content = content_of(element, head)
    head.deliveries = deliveries
    redis.call('RPUSH', keys.jobs, make_element(head, content))
  end
  redis.call('HSET', TAKERS, ARGV[1], redis.call('LLEN', TAKEN))
  return removed > 0
end

-- A list can't park: what is put back is next. No attempt is counted.
local function put_back(keys, element)
  release(keys, element, 0)
end

-- Up to `most` of what a consumer holds, latest first, so that the oldest is put back last and taken first.
local function held_by(keys, _, most)
  local held = {}
  for i, element in ipairs(redis.call('LRANGE', TAKEN, 0, most - 1)) do
    local head = read_head(element)
    if not head then
      -- Somebody else has put it there.
      head, element = adopt(keys.tally, element)
      redis.call('LSET', TAKEN, i - 1, element)
    end
    held[i] = { element, head.deliveries + 1 }
  end
  return held
end

-- A list knows no second attempt.
local function failures_of(_)
  return 0
end
