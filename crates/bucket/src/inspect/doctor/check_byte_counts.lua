-- Returns the byte count of the dead letters, outcomes or outbox. Corrects it if asked to, unless a record was added or
-- removed since the bytes were counted.
--
-- needs: at_maxmemory, now
-- KEYS  1 tally (hash)  2 the dead letters, or the outbox (stream) | the outcomes (hash)
-- ARGV  1 the name of the byte count in the tally  2 the moment at which the records were counted ('': only read)
--       3 their bytes
-- Result  { this moment: a text that changes when a record is added or removed, the byte count, 1 if it was written }
local TALLY, KEPT = KEYS[1], KEYS[2]
local counter, counted_at, bytes = ARGV[1], ARGV[2], ARGV[3]
local moment = whole(redis.call(counter == 'outcomes_bytes' and 'HLEN' or 'XLEN', KEPT))
-- Each added record increases one of these.
local ends = { 'delivered', 'dead', 'expired', 'cancelled', 'outbox_handed_over' }
for _, ended in ipairs(redis.call('HMGET', TALLY, unpack(ends))) do
  moment = moment .. ' ' .. (ended or '0')
end
local unchanged = moment == counted_at
if unchanged then redis.call('HSET', TALLY, counter, bytes) end
return { moment, tonumber(redis.call('HGET', TALLY, counter) or nil) or 0, unchanged and 1 or 0 }
