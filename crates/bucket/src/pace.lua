-- The pace: a plan of limits, and a hash with
--   hold  ms until which an upstream asked everyone to wait
--   new   '1' when there was no pace yet, so one that is set begins with nothing consumed. Where a pace has no state and isn't
--         new, its state was lost, and what was lost counts as used up: never as a burst to spend
local function pace_read(key)
  local s = redis.call('HMGET', key, 'hold', 'new')
  return { hold = tonumber(s[1]) or 0, new = s[2] == '1' }
end
