-- Counts and charges the calls of a take.
-- needs: now, rules/pace

-- Returns how many calls may be made now; if none, µs until one may be; and the µs in which the first tier refills.
-- `elapsed`: µs since this replica's last take, by its monotonic clock; `asked`: the Redis clock at that take. So a
-- Redis clock that is set forward earns no tokens, and one that is set back loses only the time by which it was wrong.
-- `joined`: the Redis clock when this replica joined, until its first take. `late`, `undrained`, `ahead`: in µs, as in
-- permit.rs: how late granted calls may be made, for how long they don't drain, and how early they are granted.
local function pace_room(pace, plan, elapsed, asked, joined, late, undrained, ahead)
  if plan == '' then return math.huge, 0, math.huge end
  local room, wait, refill, crosses = limit_room(plan, {
    elapsed = elapsed, asked = asked, joined = joined, begins = pace.new, speed = pace.speed,
    late = late, undrained = undrained, unsent = pace.unsent, ahead = ahead,
  })
  if crosses then pace.unsent_after = now_us + late end
  return room, wait, refill
end

-- µs until the next call may be made, after those that were charged.
local function pace_next(plan)
  local _, wait = limit_room(plan)
  return wait
end

-- Charges calls, and writes the state with the current time. Returns the state, '' if the process needn't remember it;
-- and when the calls may begin (limit_spend), as text, '' if at once.
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
