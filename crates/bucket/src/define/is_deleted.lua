-- Whether a bucket that was created over the API was deleted, or deleted and created again. `incarnation`: the one that
-- the caller knows; '' for a bucket of the configuration.
-- needs: closed
local function is_deleted(control, incarnation)
  if incarnation == '' then return false end
  local state = redis.call('HMGET', control, 'incarnation', 'closed')
  return state[1] ~= incarnation or state[2] == CLOSED
end
