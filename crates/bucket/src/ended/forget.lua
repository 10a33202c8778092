-- Deletes dead letters for good, as many as a script may read.
--
-- needs: at_maxmemory, budget, granted, letters
-- KEYS  1 dead (stream)  2 letters (hash)  3 sizes (zset)  4 tally (hash)
-- ARGV  1… ids of the jobs that died
-- Result  { how many letters there were, how many of the ids were looked at }
local keys = { dead = KEYS[1], letters = KEYS[2], sizes = KEYS[3], tally = KEYS[4] }
local deleted, looked_at = 0, 0
-- What is of another type is found before anything is written.
redis.call('XLEN', keys.dead)
redis.call('ZCARD', keys.sizes)
redis.call('HLEN', keys.tally)
check_granted(keys.dead, 'XDEL', 'ZREM', 'HSET')
for _, job in ipairs(ARGV) do
  if not may_read() then break end
  looked_at = looked_at + 1
  local letter = redis.call('HGET', keys.letters, job)
  if letter then
    local found = redis.call('XRANGE', keys.dead, letter, letter)[1]
    redis.call('HDEL', keys.letters, job)
    if found then
      count_read(found[2])
      remove_letter(keys, letter, found[2])
      deleted = deleted + 1
    end
  end
end
return { deleted, looked_at }
