-- Begins an incarnation of a bucket: from now on scripts called with another incarnation are refused. If the bucket is
-- suspended for the deletion of an earlier definition, it is opened again.
--
-- needs: at_maxmemory, closed
-- KEYS  1 jobs  2 control (hash)  3 audit (stream)
-- ARGV  1 incarnation  2 the version of its definition  3 the new version of the settings in force
-- Result  'open' | 'suspended' for the deletion of this definition or a later one | 'closed': the bucket was deleted |
--         'gone': there is a later incarnation
local CONTROL, AUDIT, incarnation, definition, version = KEYS[2], KEYS[3], ARGV[1], ARGV[2], ARGV[3]

local state = redis.call('HMGET', CONTROL, 'incarnation', 'closed')
if state[1] == incarnation then
  if not state[2] then return 'open' end
  if state[2] == CLOSED then return 'closed' end
  if tonumber(state[2]) >= tonumber(definition) then return 'suspended' end
  redis.call('HDEL', CONTROL, 'closed', 'suspended')
  redis.call('HSET', CONTROL, 'version', version)
  return 'open'
end
if state[1] and tonumber(state[1]) > tonumber(incarnation) then return 'gone' end
redis.call('DEL', CONTROL)
redis.call('HSET', CONTROL, 'incarnation', incarnation, 'version', version)
redis.call('PERSIST', AUDIT)
return 'open'
