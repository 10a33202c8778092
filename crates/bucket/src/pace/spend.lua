-- What calls may be made now, and what was spent.
-- needs: now, rules/pace

-- Calls that may be made now; when none, µs until one may; and µs in which the first tier refills. `elapsed` is the
-- most that can have passed since this replica last asked, by a clock that isn't set, and `asked` what the Redis clock
-- was then: one that was put forward doesn't make tokens. One that was put back loses only the time it was wrong.
-- `joined`: what it was when this replica joined, until it has asked.
-- `late`, `undrained`, `ahead` in µs as in permit.rs: how late the calls may be made that are granted now, and how long
-- before their time they are.
local function pace_room(pace, plan, elapsed, asked, joined, late, undrained, ahead)
  if plan == '' then return math.huge, 0, math.huge end
  local room, wait, refill, crosses = limit_room(plan, {
    elapsed = elapsed, asked = asked, joined = joined, begins = pace.new, speed = pace.speed,
    late = late, undrained = undrained, unsent = pace.unsent, ahead = ahead,
  })
  if crosses then pace.unsent_after = now_us + late end
  return room, wait, refill
end

-- µs until the next call may be made, behind what was spent.
local function pace_next(plan)
  local _, wait = limit_room(plan)
  return wait
end

-- Writes what was spent, and that time has passed until now. The state as it was written; '' where nobody is to
-- remember it. And when the calls may begin (limit_spend), as text; '': at once.
local function pace_spend(key, pace, plan, calls)
  if plan ~= '' then
    local starts = limit_spend(plan, calls)
    for i = 1, #starts do starts[i] = whole(starts[i]) end
    limit_flush()
    if pace.new then redis.call('HDEL', key, 'new') end
    if calls > 0 and pace.unsent_after and pace.unsent_after > pace.unsent then
      redis.call('HSET', key, 'unsent', whole(pace.unsent_after))
    end
    return pace.server and limit_state(plan) or '', table.concat(starts, ' ')
  end
  if not pace.new then redis.call('HSET', key, 'new', 1) end
  return '', ''
end
