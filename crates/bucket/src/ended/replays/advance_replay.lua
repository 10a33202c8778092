-- Keeps the lease of a replay of many, notes how far it is, or ends it: for the process that carries it out, and for
-- who cancels it.
--
-- needs: at_maxmemory, now
-- KEYS  1 replays (hash): per replay the fields `<id>:<name>`
-- ARGV  1 id  2 who carries it out, '' for who cancels it  3 ms of the lease
--       4 how it has ended, '' for not yet  5 the last letter that was looked at, '' for no news
--       6 how many letters stay up to there
-- Result  'kept' | 'ended' | 'taken' by another process | 'absent'
local REPLAYS, id, owner, lease_ms = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local ending, position, left = ARGV[4], ARGV[5], ARGV[6]

local found = redis.call('HMGET', REPLAYS, id .. ':state', id .. ':lease')
if not found[1] then return 'absent' end
if found[1] ~= 'running' then return 'ended' end
if owner ~= '' then
  local holder, until_ms = string.match(found[2] or '', '^(%S+) (%d+)$')
  local lasts = holder and holder ~= owner and until_ms - now_ms or 0
  -- One that lasts longer was taken before the clock of Redis was set back: who had it may be dead.
  if lasts > 0 and lasts <= lease_ms then return 'taken' end
  redis.call('HSET', REPLAYS, id .. ':lease', owner .. ' ' .. whole(now_ms + lease_ms))
end
if position ~= '' then redis.call('HSET', REPLAYS, id .. ':position', position, id .. ':left', left) end
if ending ~= '' then redis.call('HSET', REPLAYS, id .. ':state', ending, id .. ':ended', whole(now_ms)) end
return 'kept'
