-- Notes which buckets a process has among its settings, and answers the others: those that no process has had there for
-- a while.
--
-- KEYS  1 buckets (hash)
-- ARGV  1 ms after which a bucket that nobody notes is served no more  2 the most buckets to keep
--       3… the places to note
-- Result  places
local BUCKETS, silence, most = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

local known = redis.call('HGETALL', BUCKETS)
local places, room = {}, most - #known / 2
for i = 1, #known, 2 do places[known[i]] = tonumber(known[i + 1]) or 0 end
if #ARGV > 2 then
  -- After a write that needs no memory the others are carried out also at maxmemory.
  redis.call('HDEL', BUCKETS, '')
end
for i = 3, #ARGV do
  local place = ARGV[i]
  if places[place] or room > 0 then
    redis.call('HSET', BUCKETS, place, string.format('%.0f', now_ms))
    if not places[place] then room = room - 1 end
    places[place] = now_ms
  end
end

local silent = {}
for place, at in pairs(places) do
  -- A clock that was put back doesn't keep a bucket served.
  if math.abs(now_ms - at) >= silence then silent[#silent + 1] = place end
end
table.sort(silent)
return silent
