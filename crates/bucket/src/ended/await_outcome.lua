-- Looks how jobs ended, and registers that somebody waits for the others.
--
-- needs: now, budget
-- KEYS  1 outcomes (hash)  2 notices (zset: job id → ms until which somebody waits)
-- ARGV  1 for how many ms somebody waits, then the ids
-- Result  { the outcome as it is recorded, or '' }…, of as many as a script may read
local wait_ms = ARGV[1]
local outcomes, waits = {}, {}
for i = 2, #ARGV do
  if not may_read() then break end
  local outcome = redis.call('HGET', KEYS[1], ARGV[i])
  if outcome then
    count_read(outcome)
  else
    waits[#waits + 1] = whole(now_ms + wait_ms)
    waits[#waits + 1] = ARGV[i]
  end
  outcomes[#outcomes + 1] = outcome or ''
end
if #waits > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', whole(now_ms))
  -- At maxmemory that is refused: then who waits finds out by looking.
  redis.pcall('ZADD', KEYS[2], unpack(waits))
  redis.call('PEXPIRE', KEYS[2], wait_ms)
end
return outcomes
