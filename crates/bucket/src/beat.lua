-- A heartbeat, and a look at the others.
--
-- KEYS  1 jobs (stream)  2 replicas (hash)
-- ARGV  1 consumer
-- Result  { 'fenced' }
--         { 'alive', { consumer, heartbeats, … of all members }, { names of all consumers of the group } }
local JOBS, REPLICAS = KEYS[1], KEYS[2]
if redis.call('HEXISTS', REPLICAS, ARGV[1]) == 0 then return { 'fenced' } end
redis.call('HINCRBY', REPLICAS, ARGV[1], 1)
local names = {}
local consumers = redis.pcall('XINFO', 'CONSUMERS', JOBS, 'processors')
if not consumers.err then
  for _, info in ipairs(consumers) do
    for i = 1, #info, 2 do
      if info[i] == 'name' then names[#names + 1] = info[i + 1] end
    end
  end
end
return { 'alive', redis.call('HGETALL', REPLICAS), names }
