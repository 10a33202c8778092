-- Opens a bucket whose deletion was interrupted before it was decided, so that the bucket stayed suspended.
--
-- needs: at_maxmemory, now, closed
-- KEYS  1 jobs  2 control (hash)
-- ARGV  1 incarnation  2 ms after the suspension at which an undecided deletion counts as abandoned
--       3 time of the suspension in ms, as an earlier call returned it; '': only check
--       4 the new version of the settings in force
-- Result  'open' | time of the suspension in ms: open it if its deletion isn't decided | '': not suspended long enough
local CONTROL, incarnation, after, seen, version = KEYS[2], ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

local state = redis.call('HMGET', CONTROL, 'incarnation', 'closed', 'suspended')
if state[1] ~= incarnation or not state[2] or state[2] == CLOSED then return '' end
local since = tonumber(state[3] or nil)
-- An earlier version recorded no time, or the clock was set back: the suspension counts from now.
if not since or since > now_ms then
  redis.call('HSET', CONTROL, 'suspended', whole(now_ms))
  return ''
end
if now_ms - since < after then return '' end
if seen == '' then return state[3] end
if seen ~= state[3] then return '' end
redis.call('HDEL', CONTROL, 'closed', 'suspended')
redis.call('HSET', CONTROL, 'version', version)
return 'open'
