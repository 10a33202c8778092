-- Notes a replay of many dead letters, which a process then carries out. The oldest that have ended make room.
--
-- needs: now, is_deleted
-- KEYS  1 replays (hash): per replay the fields `<id>:<name>`  2 control (hash)
-- ARGV  1 id  2 what is replayed (JSON)  3 how many letters match  4 the most replays that are kept
--       5 the last letter that may match  6 incarnation ('': the bucket isn't created over the API)
-- Result  1 | 0: that many have not ended | -1: the bucket was deleted, or created again
local REPLAYS, id, wanted, total = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local most = tonumber(ARGV[4])

if is_deleted(KEYS[2], ARGV[6]) then return -1 end
local names, ended, count = {}, {}, 0
local all = redis.call('HGETALL', REPLAYS)
for i = 1, #all, 2 do
  local of, name = string.match(all[i], '^(.*):(%l+)$')
  if of then
    names[of] = names[of] or {}
    table.insert(names[of], all[i])
    if name == 'state' then count = count + 1 end
    if name == 'ended' then ended[#ended + 1] = { id = of, ms = tonumber(all[i + 1]) or 0 } end
  end
end
if count - #ended >= most then return 0 end
table.sort(ended, function(one, other) return one.ms < other.ms end)
-- First what needs memory: at maxmemory it is refused, and nothing was changed.
redis.call('HSET', REPLAYS, id .. ':wanted', wanted, id .. ':total', total, id .. ':state', 'running')
redis.call('HSET', REPLAYS, id .. ':newest', ARGV[5], id .. ':started', whole(now_ms))
for i = 1, math.min(#ended, count + 1 - most) do redis.call('HDEL', REPLAYS, unpack(names[ended[i].id])) end
return 1
