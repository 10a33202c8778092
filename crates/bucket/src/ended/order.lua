-- The order in which jobs ended: the zset `ended`, job id by ms.

-- Up to `most` that ended after a place, which is a time in ms and the job that ended then ('': before all of that
-- time): id, ms, id, ms…
local function ended_after(ended, ms, id, most)
  local rank = id ~= '' and redis.call('ZRANK', ended, id)
  if rank then return redis.call('ZRANGE', ended, rank + 1, rank + most, 'WITHSCORES') end
  -- A job that is forgotten by now was forgotten with all that ended before it.
  return redis.call('ZRANGE', ended, ms, '+inf', 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
end
