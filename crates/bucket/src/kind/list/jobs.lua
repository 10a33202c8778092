-- List kind: counts and adds jobs.
-- needs: now, kind/entry

-- Hash: consumer → number of its claimed jobs; the last of KEYS.
local TAKERS = KEYS[#KEYS]

-- The level, the number of jobs in flight, and { consumer, number }… of these.
local function count_jobs(jobs)
  local held, holders = 0, {}
  local counts = redis.call('HGETALL', TAKERS)
  for i = 1, #counts, 2 do
    local count = tonumber(counts[i + 1]) or 0
    held = held + count
    holders[#holders + 1] = { counts[i], count }
  end
  return redis.call('LLEN', jobs) + held, held, holders
end

-- Whether no job can leave the bucket. Jobs of a list are never parked.
local function is_idle(level)
  return level == 0
end

-- Adds a job at the head, and returns its id; nil for an entry without an element. The content has no first brace,
-- except that of a dead letter.
local function append(keys, entry)
  local content = field(entry, 'element')
  if not content then return nil end
  local head = { id = next_id(keys.tally), expires = tonumber(field(entry, 'expires')), deliveries = 0 }
  if string.sub(content, 1, 1) == '{' then content = string.sub(content, 2) end
  redis.call('LPUSH', keys.jobs, make_element(head, content))
  return head.id
end

-- Jobs of a list are never parked.
local function wait_until_due(_, _)
  return 0, false
end

-- A list has no limits per caller.
local function wait_for_flows(_)
  return 0
end
