-- List kind: the level, and what of it is in flight; in all, and { consumer, number }….
-- needs: kind/consumers
local function count_jobs(jobs)
  local held, holders = 0, {}
  local counts = redis.call('HGETALL', TAKERS)
  for i = 1, #counts, 2 do
    held = held + tonumber(counts[i + 1])
    holders[#holders + 1] = { counts[i], counts[i + 1] }
  end
  return redis.call('LLEN', jobs) + held, held, holders
end
