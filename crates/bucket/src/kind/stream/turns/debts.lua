-- Stream kind: what callers, or groups, have used of their rates. Each is a leaky bucket: a call adds one, `limit`
-- drain in each `period`, and there is room for `burst`.
-- needs: kind/flow_state

-- Of each of these rates, { limit, period in µs, burst } or false, the calls that haven't drained at `clock`. `state`
-- as `read` reads it; nil: nothing is known of the caller, and it has earned its bursts since `lost` (0: always).
function flow_state.debts(rates, state, clock, lost)
  local debts = {}
  for i, of in ipairs(rates) do
    local rate, debt = of and of.limit / of.period, 0
    if rate and state then
      debt = math.max(0, (state.debts[i] or 0) - math.max(0, clock - state.at) * rate)
    elseif rate and lost > 0 then
      debt = math.max(0, of.burst - (clock - lost) * rate)
    end
    debts[i] = debt
  end
  return debts
end
