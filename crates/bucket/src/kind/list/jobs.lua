-- List kind: how many jobs there are, and one more.
-- needs: now, kind/entry

-- Hash: who takes jobs → how many each holds; the last of KEYS.
local TAKERS = KEYS[#KEYS]

-- The level, and what of it is in flight; in all, and { consumer, number }….
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

-- Whether nothing leaves the bucket: nothing is parked.
local function is_idle(level)
  return level == 0
end

-- Adds a job at the head; what it returns is the job's id. nil for an entry that has no element in it. The content in
-- it has no first brace, unless it is a dead letter's.
local function append(keys, entry)
  local content = field(entry, 'element')
  if not content then return nil end
  local head = { id = next_id(keys.tally), expires = tonumber(field(entry, 'expires')), deliveries = 0 }
  if string.sub(content, 1, 1) == '{' then content = string.sub(content, 2) end
  redis.call('LPUSH', keys.jobs, make_element(head, content))
  return head.id
end

-- Nothing is parked.
local function wait_until_due(_, _)
  return 0, false
end

-- Nobody is throttled alone.
local function wait_for_flows(_)
  return 0
end
