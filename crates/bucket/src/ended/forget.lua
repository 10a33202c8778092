-- Deletes a dead letter for good.
--
-- needs: at_maxmemory, keep
-- KEYS  1 dead (stream)  2 letters (hash)  3 tally (hash)
-- ARGV  1 id of the job that died
-- Result  1, or 0 when there is no such letter
local keys = { dead = KEYS[1], letters = KEYS[2], tally = KEYS[3] }
local job = ARGV[1]
local letter = redis.call('HGET', keys.letters, job)
if not letter then return 0 end
redis.call('HDEL', keys.letters, job)
local found = redis.call('XRANGE', keys.dead, letter, letter)[1]
if not found then return 0 end
delete_letter(keys, letter, found[2])
return 1
