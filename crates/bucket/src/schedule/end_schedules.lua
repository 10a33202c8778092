-- Ends one schedule, or all of the bucket. Jobs that they have submitted stay.
--
-- needs: at_maxmemory, granted, schedule_state
-- KEYS  1 schedules (hash)  2 next ticks (zset)  3 states (hash)  4 tally (hash)
-- ARGV  1 id ('': all)  2 the version that the caller knows ('*': any)
-- Result  how many were ended; -1: the schedule has another version, and nothing is changed
local SCHEDULES, NEXT, STATES, TALLY, id, known = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1], ARGV[2]
-- Keys of another type, and denied commands, are found before the first write.
redis.call('ZCARD', NEXT)
redis.call('HLEN', STATES)
check_granted(SCHEDULES, 'HDEL', 'HSET', 'ZREM')
local bytes_of_all = tonumber(redis.call('HGET', TALLY, 'schedules_bytes') or nil) or 0
if id == '' then
  local count = redis.call('HLEN', SCHEDULES)
  redis.call('DEL', SCHEDULES, NEXT, STATES)
  redis.call('HDEL', TALLY, 'schedules_bytes')
  return count
end
local state = known ~= '*' and read_schedule(STATES, id)
if state and state.version ~= known then return -1 end
local bytes = redis.call('HSTRLEN', SCHEDULES, id)
if redis.call('HDEL', SCHEDULES, id) == 0 then return 0 end
redis.call('ZREM', NEXT, id)
redis.call('HDEL', STATES, id)
redis.call('HSET', TALLY, 'schedules_bytes', whole(math.max(0, bytes_of_all - bytes)))
return 1
