-- Removes outcome jobs that their buckets have accepted.
--
-- needs: at_maxmemory, counts, keep
-- KEYS  1 outbox (stream)  2 tally (hash)
-- ARGV  ids of their entries
-- Result  how many of the entries existed
local OUTBOX, keys = KEYS[1], { tally = KEYS[2] }

local removed, bytes = 0, 0
for _, id in ipairs(ARGV) do
  local found = redis.call('XRANGE', OUTBOX, id, id)[1]
  if found then
    redis.call('XDEL', OUTBOX, id)
    removed, bytes = removed + 1, bytes + letter_bytes(found[2])
  end
end
count_bytes(keys, 'outbox_bytes', -bytes)
if removed > 0 then count_up(keys.tally, 'outbox_handed_over', removed) end
return removed
