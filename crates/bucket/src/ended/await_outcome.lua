-- Looks how jobs ended, and registers that somebody waits for the others.
--
-- needs: now
-- KEYS  1 outcomes (hash)  2 notices (zset: job id → ms until which somebody waits)
-- ARGV  1 for how many ms somebody waits, then the ids
-- Result  { the outcome as it is recorded, or '' }…
local wait_ms, ids = ARGV[1], { unpack(ARGV, 2) }
local outcomes, waits = redis.call('HMGET', KEYS[1], unpack(ids)), {}
for i, id in ipairs(ids) do
  if not outcomes[i] then
    outcomes[i] = ''
    waits[#waits + 1] = whole(now_ms + wait_ms)
    waits[#waits + 1] = id
  end
end
if #waits > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', whole(now_ms))
  -- At maxmemory that is refused: then who waits finds out by looking.
  redis.pcall('ZADD', KEYS[2], unpack(waits))
  redis.call('PEXPIRE', KEYS[2], wait_ms)
end
return outcomes
