-- Opens a bucket again that has been suspended for a deletion for long, which somebody was stopped in.
--
-- needs: at_maxmemory, now, closed
-- KEYS  1 jobs  2 control (hash)
-- ARGV  1 incarnation  2 ms after which a deletion that isn't decided never will be  3 ms at which the bucket was
--       suspended, as an earlier call has answered; '': only look  4 the version of what is then in force
-- Result  'open' | ms at which it was suspended: it may be opened, if the deletion isn't decided | '': it isn't
--         suspended, or not for long, or another time
local CONTROL, incarnation, after, seen, version = KEYS[2], ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

local state = redis.call('HMGET', CONTROL, 'incarnation', 'closed', 'suspended')
if state[1] ~= incarnation or not state[2] or state[2] == CLOSED then return '' end
local since = tonumber(state[3] or nil)
-- An earlier version doesn't say when; or the clock was put back.
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
