-- Stream kind: what callers, or groups, have used of their rates. Each is a leaky bucket: a call adds one, `limit`
-- drain in each `period`, and there is room for `burst`.
-- needs: pace_constants, kind/flow_state

-- Of each of these rates, { limit, period in µs, burst } or false, the calls that haven't drained at `clock`. `state`
-- as `read` reads it, whose debts these become; nil: nothing is known of the caller, and it has earned its bursts since
-- `lost` (0: always). `has_waited`: for its next token, until this take, which is a little late for it. So long all
-- drains further than to 0, else a caller with a burst of 1 would lose what passed (permit.rs).
function flow_state.debts(rates, state, clock, lost, has_waited)
  local kept = has_waited and TOKENS_KEPT or 0
  local debts, passed = state and state.debts or {}, state and math.max(0, clock - state.at)
  for i = 1, #rates do
    local of = rates[i]
    if not of then
      debts[i] = 0
    elseif passed then
      debts[i] = math.max(-kept * of.limit / of.period, (debts[i] or 0) - passed * of.limit / of.period)
    else
      debts[i] = lost > 0 and math.max(0, of.burst - (clock - lost) * of.limit / of.period) or 0
    end
  end
  for i = #rates + 1, #debts do debts[i] = nil end
  return debts
end

-- µs until the call of one more job behind as many.
function flow_state.wait_behind(rates, debts, jobs)
  local wait = 0
  for i = 1, #rates do
    local rate = rates[i]
    if rate then wait = math.max(wait, (debts[i] + jobs + 1 - rate.burst) * rate.period / rate.limit) end
  end
  return math.ceil(wait)
end
