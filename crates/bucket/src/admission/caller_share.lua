-- The share of the room that one caller may hold.
-- needs: callers, eta
local held_before = {}

-- How many jobs a caller holds, with those of this script. `level` is what the script found in the bucket.
local function held_by_caller(holders, caller, level)
  if not held_before[caller] then
    local counted = tonumber(redis.call('HGET', holders, caller) or 0)
    held_before[caller] = counted
    -- Nobody holds more than there is: somebody deleted jobs by hand.
    if counted > level then count_held(caller, level - counted) end
  end
  return held_before[caller] + (held_more[caller] or 0)
end

-- How many jobs a caller holds, and the most that it may; nil where that isn't bounded (0), or nobody's.
local function holding_of(most, holders, caller, level)
  if most == 0 or not caller or caller == '' then return nil end
  return { held = held_by_caller(holders, caller, level), most = most }
end

local function has_its_share(holding)
  return holding and holding.held >= holding.most
end

-- µs until a caller that has its share may hold one more: its own jobs may be behind all others.
local function wait_for_share(meter, pace, look, level, holding)
  return wait_for_room(meter, pace, look, level, level - holding.most + 1)
end
