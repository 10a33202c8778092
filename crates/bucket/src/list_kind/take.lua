-- List kind: from the tail of the jobs, where the oldest is, to the head of the replica's own list.
local TAKEN = KEYS[#KEYS - 1]
-- Nothing rings when a list gets an element, without taking it; so who waits looks again soon.
local EMPTY_POLL = 50000
-- In one call, so that no script runs long.
local MOST_EXPIRED = 1000

local function count_in_flight(jobs)
  local _, held = count_jobs(jobs)
  return held
end

-- Up to `want` jobs { id, element, failed attempts }…, how many expired on the way; where there is none, µs until it is worth
-- asking again.
local function hand_out(keys, consumer, want)
  local taken, expired = {}, 0
  local wait = 0
  while #taken < want and expired < MOST_EXPIRED do
    -- As LMOVE would, but first what needs no memory: at maxmemory a script may go on after that.
    local element = redis.call('RPOP', keys.jobs)
    if not element then
      wait = EMPTY_POLL
      break
    end
    local head = read_head(element)
    if not head then head, element = adopt(keys.tally, element) end
    if head.expires and head.expires <= now_ms then
      local entry = entry_of(nil, element)
      record_expired(keys, head.id, counted_bytes(entry), caller_of(entry))
      expired = expired + 1
    else
      redis.call('LPUSH', TAKEN, element)
      taken[#taken + 1] = { head.id, element, 0 }
    end
  end
  if #taken > 0 then redis.call('HSET', TAKERS, consumer, redis.call('LLEN', TAKEN)) end
  return taken, expired, wait
end
