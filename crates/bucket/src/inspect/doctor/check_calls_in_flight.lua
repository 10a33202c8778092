-- Checks the jobs that are counted as calls in flight of their callers, each at one moment, and subtracts those that no
-- replica has claimed if asked to.
--
-- needs: at_maxmemory, constants, examine_each, kind/pending, kind/leave_flows
-- KEYS  1 jobs (stream)  2 flow-state (hash)  3 notices (zset), then throttled (zset), flow-state (hash),
--       parked (zset), flows (zset), ranges (zset)
-- ARGV  1 '1' to repair, then fields of flow-state
-- Result  { number of fields checked, id of a job to repair… }
local JOBS, STATE, NOTICES = KEYS[1], KEYS[2], KEYS[3]
local is_repair, FIRST = ARGV[1] == '1', 2

return examine_each(FIRST, is_repair, function(id)
  -- The other fields of the hash aren't jobs.
  if not string.match(id, '^%d+%-%d+$') or redis.call('HEXISTS', STATE, id) == 0 then return nil end
  local owner = owner_of(JOBS, id)
  if owner and owner ~= PARKED_OWNER then return nil end
  return function() leave_flows({ id }, NOTICES) end
end)
