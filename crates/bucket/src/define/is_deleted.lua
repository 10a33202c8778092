-- Whether a bucket that was created over the API was deleted, or created again under its name since. `incarnation`: as
-- the caller knows it; '' for a bucket of the configuration.
-- needs: closed
local function is_deleted(control, incarnation)
  if incarnation == '' then return false end
  local state = redis.call('HMGET', control, 'incarnation', 'closed')
  return state[1] ~= incarnation or state[2] == CLOSED
end
