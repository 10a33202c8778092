-- Stream kind: rates and maximum concurrent calls of callers, or groups. Flows that may be called now are in `flows`,
-- all others in `throttled`, so that takes don't scan those.
-- needs: kind/flow_state, kind/unthrottle
-- opens: open_bounds_in_force = kind/bounds_in_force

-- The bounds of a take (bounds_in_force.lua); nil without limits. `asked`: { pace_key, pace: as in pace.lua, limits: of
-- callers (limits_of.lua), '' without any, elapsed, since, undrained: in µs, the arguments of the take }.
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
