-- In place of spend.lua and settling.lua, where no pace is set: as many calls may be made as there are jobs, and there
-- is no state that could have been rolled back.
local pace_settling, pace_next

local function pace_room()
  return math.huge, 0, math.huge
end

-- A pace that is set later begins with nothing consumed.
local function pace_spend(key, pace)
  if not pace.new then redis.call('HSET', key, 'new', 1) end
  return '', ''
end
