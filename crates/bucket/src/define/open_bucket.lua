-- Begins an incarnation of a bucket: from now on the scripts of those who know it work with it, and no others.
--
-- needs: at_maxmemory
-- KEYS  1 jobs  2 control (hash)  3 audit (stream)
-- ARGV  1 incarnation  2 the version of what is then in force
-- Result  'open' | 'closed': it was deleted | 'gone': there is a later one
local CONTROL, AUDIT, incarnation, version = KEYS[2], KEYS[3], ARGV[1], ARGV[2]

local state = redis.call('HMGET', CONTROL, 'incarnation', 'closed')
if state[1] == incarnation then return state[2] and 'closed' or 'open' end
if state[1] and tonumber(state[1]) > tonumber(incarnation) then return 'gone' end
redis.call('DEL', CONTROL)
redis.call('HSET', CONTROL, 'incarnation', incarnation, 'version', version)
redis.call('PERSIST', AUDIT)
return 'open'
