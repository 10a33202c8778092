-- Gives back what a replica holds without knowing it: due at once for any replica, that delivery isn't counted.
--
-- KEYS  1 jobs  2 tally (hash)  3 replicas (hash)  4 takes (hash: consumer → number of a take), then the kind's, as in
--       settle.lua
-- ARGV  1 consumer  2 number of its last take: those up to it that arrive only now take nothing any more
--       3 the most jobs to give back in this call, then the jobs that it knows it holds, as its kind names them
-- Result  how many were given back
local keys = { jobs = KEYS[1], tally = KEYS[2] }
local REPLICAS, TAKES = KEYS[3], KEYS[4]
local consumer, most = ARGV[1], tonumber(ARGV[3])
if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return 0 end
redis.call('HSET', TAKES, consumer, ARGV[2])

local known = {}
for i = 4, #ARGV do known[ARGV[i]] = true end
local given_back = 0
for _, held in ipairs(held_by(keys, consumer, most + #ARGV - 3)) do
  local job, deliveries = held[1], held[2]
  if not known[job] and given_back < most then
    release(keys, job, math.max(0, deliveries - 1))
    given_back = given_back + 1
  end
end
return given_back
