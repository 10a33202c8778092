-- Stores how many outcome jobs are larger than the capacity_bytes of their target bucket.
--
-- needs: at_maxmemory
-- KEYS  1 tally (hash)
-- ARGV  1 how many
-- Result  that number
local TALLY = KEYS[1]
local found = tonumber(ARGV[1])

if found > 0 then
  redis.call('HSET', TALLY, 'outbox_oversized', found)
else
  redis.call('HDEL', TALLY, 'outbox_oversized')
end
return found
