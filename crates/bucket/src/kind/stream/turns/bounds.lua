-- Stream kind: how fast callers, or groups, may be called, and how many calls of each may be under way. Flows that may
-- be called now are in `flows`, all others in `throttled`: so no take walks past those.
-- needs: kind/flow_state, kind/bring_back
-- opens: open_bounds_in_force = kind/bounds_in_force

-- For a take: as bounds_in_force.lua makes them; nil where nobody is throttled. `asked`: { pace_key, pace: as in
-- pace.lua, limits: what each may (limits_of.lua), '' for all, elapsed, since, undrained: in µs, as a take is given
-- them for the pace }.
local function open_bounds(asked)
  local pace, noted, text = asked.pace, flow_state.read_clock()
  local is_counted = pace.flows == '1' or pace.flows == 'counting'
  local is_state_lost = is_counted and not noted
  if asked.limits ~= '' then
    return open_bounds_in_force()(asked, {
      noted = is_counted and noted or nil, print = noted and noted.print, has_text = text and true or false,
      is_state_lost = is_state_lost,
    })
  end
  if is_counted then
    end_bounds(asked.pace_key, is_state_lost)
  elseif pace.flows then
    redis.call('HDEL', asked.pace_key, 'flows')
  end
  return nil
end
