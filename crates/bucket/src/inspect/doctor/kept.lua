-- Reports what the bytes of dead letters, outcomes or the outbox are counted as, and counts them again when asked to,
-- if none has come or gone since they were counted.
--
-- needs: at_maxmemory, now
-- KEYS  1 tally (hash)  2 the dead letters, or the outbox (stream) | the outcomes (hash)
-- ARGV  1 the name of the counter in the tally  2 the moment at which they were counted ('': they weren't)
--       3 the bytes that they count
-- Result  { this moment: the same text as long as none comes or goes, bytes as they are counted, 1 when they were
--       written }
local TALLY, KEPT = KEYS[1], KEYS[2]
local counter, counted_at, bytes = ARGV[1], ARGV[2], ARGV[3]
local moment = whole(redis.call(counter == 'outcomes_bytes' and 'HLEN' or 'XLEN', KEPT))
-- None comes without one of these growing.
local ends = { 'delivered', 'dead', 'expired', 'cancelled', 'outbox_handed_over' }
for _, ended in ipairs(redis.call('HMGET', TALLY, unpack(ends))) do
  moment = moment .. ' ' .. (ended or '0')
end
local unchanged = moment == counted_at
if unchanged then redis.call('HSET', TALLY, counter, bytes) end
return { moment, tonumber(redis.call('HGET', TALLY, counter) or nil) or 0, unchanged and 1 or 0 }
