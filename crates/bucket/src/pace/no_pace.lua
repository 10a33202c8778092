-- Replaces spend.lua and settling.lua without a pace: any number of calls may be made, and there is no state.
local pace_settling, pace_next

local function pace_room()
  return math.huge, 0, math.huge
end

-- Notes that a pace that is set later begins with nothing consumed.
local function pace_spend(key, pace)
  if not pace.new then redis.call('HSET', key, 'new', 1) end
  return '', ''
end
