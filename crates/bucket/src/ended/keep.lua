-- The bounds of what is kept of ended jobs: outcomes, dead letters and idempotency keys. Each is bounded by age, the
-- first two also by number and bytes, which the tally counts.
-- needs: now

-- The bounds in `keys.keep`, as settings.rs packs them. Parsed when needed, as most scripts need none, or only those of
-- outcomes (keep_outcomes.lua).
local kept
local function keep_of(keys)
  if kept then return kept end
  local n = { string.match(keys.keep, '^' .. string.rep('(%d+) ', 9) .. '(%d+)') }
  kept = {
    holds = n[1] == '1', dead_ms = tonumber(n[5]), most_dead = tonumber(n[6]), dead_bytes = tonumber(n[7]),
    keys_ms = tonumber(n[8]), failed = tonumber(n[9]), most_failed = tonumber(n[10]),
  }
  return kept
end

-- Whether jobs must wait for room among the dead letters.
local function dead_is_full(keys)
  if string.byte(keys.keep) ~= string.byte('1') then return false end
  local keep = keep_of(keys)
  return (redis.call('XLEN', keys.dead) >= keep.most_dead
    or (tonumber(redis.call('HGET', keys.tally, 'dead_bytes') or nil) or 0) >= keep.dead_bytes)
end

-- Adds to a counter of bytes in the tally (`bytes` of the jobs, `outcomes_bytes`, `dead_bytes`), or subtracts. Not
-- below 0, in case earlier versions or Redis didn't count something. A counter that isn't a number begins again.
local function count_bytes(keys, counter, bytes)
  if bytes == 0 then return end
  local held = redis.pcall('HINCRBY', keys.tally, counter, whole(bytes))
  if type(held) ~= 'number' or held < 0 then
    redis.call('HSET', keys.tally, counter, whole(math.max(0, bytes)))
  end
end

-- The bytes of the names and values of a letter, or an outcome job.
local function letter_bytes(fields)
  local bytes = 0
  for _, text in ipairs(fields) do bytes = bytes + #text end
  return bytes
end
