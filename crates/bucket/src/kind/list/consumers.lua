-- List kind: the consumers, which are the fields of the hash `takers`, and their claimed jobs.
-- needs: budget, kind/entry, kind/held, kind/jobs, kind/put_back

local function add_consumer(_, consumer)
  redis.call('HSETNX', TAKERS, consumer, 0)
end

local function consumers_of(_)
  return redis.call('HKEYS', TAKERS)
end

local function remove_consumer(_, consumer)
  redis.call('HDEL', TAKERS, consumer)
end

local function release(keys, element, deliveries)
  return requeue(keys, element, deliveries, false)
end

-- Up to `most` claimed jobs of a consumer, as many as a script may read: { element, deliveries }…, the latest first, so
-- that the oldest is requeued last, and taken first; and the next cursor, '' at the end. None are added meanwhile.
local function held_by(keys, _, most, place)
  local at, length = string.match(place, '^(%d+) (%d+)$')
  local there = redis.call('LLEN', TAKEN)
  at = at and math.max(0, at - (length - there)) or 0
  local held = {}
  while #held < most and may_read() do
    local element = redis.call('LINDEX', TAKEN, at)
    if not element then return held, '' end
    count_read(element)
    local head = read_head(element)
    if not head then
      -- Somebody has put this element there by hand.
      head, element = adopt(keys.tally, element)
      redis.call('LSET', TAKEN, at, element)
    end
    held[#held + 1], at = { element, head.deliveries + 1 }, at + 1
  end
  return held, at .. ' ' .. there
end

-- Suspects can't be separated, as requeued elements are taken next.
local keeps_suspects_apart = false

-- A list has no second attempts.
local function failures_of(_)
  return 0
end
