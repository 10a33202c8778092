-- Stream kind: what callers, or groups, have used of their rates. Each rate is a leaky bucket: a call adds one to its
-- debt, `limit` drain in each `period`, and the debt may be `burst`.
-- needs: pace_constants, kind/flow_state

-- The debts at `clock` by these rates: { limit, period in µs, burst } or false. `state`: as `read` reads it, whose
-- debts are changed; nil if the caller has no state: then it has earned its bursts since `lost` (0: always).
-- `has_waited`: whether it waited for its next token. As this take is a little late for it, its debts may then drain to
-- below 0: otherwise a caller with a burst of 1 would lose that time (permit.rs).
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

-- µs until the call of one more job after this many.
function flow_state.wait_behind(rates, debts, jobs)
  local wait = 0
  for i = 1, #rates do
    local rate = rates[i]
    if rate then wait = math.max(wait, (debts[i] + jobs + 1 - rate.burst) * rate.period / rate.limit) end
  end
  return math.ceil(wait)
end
