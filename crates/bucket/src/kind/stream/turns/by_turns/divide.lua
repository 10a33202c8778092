-- Stream kind: divides calls among flows. `line`: flows { at: virtual time, weight }.
-- needs: kind/flows

-- All else is local to the block: Lua allows 200 local variables.
local divide, sort_by_time
do
  -- Shares are rounded up for the first flows; this much is ignored as the rounding error of sums.
  local ROUNDING = 0.000001

  -- How many of `n` calls each of the first flows gets, so that their virtual times become equal. The line is sorted.
  -- No call begins after `reach`, where a flow that isn't in the line may be; so fewer calls may be given.
  function divide(line, n, reach)
    local weights, values, height, count, base = 0, 0, nil, 0, line[1].at
    for _, flow in ipairs(line) do
      local at = flow.at - base
      if height and height <= at then break end
      weights, values, count = weights + flow.weight, values + flow.weight * at, count + 1
      height = (n * UNIT + values) / weights
    end
    local shares, exact, given = {}, 0, 0
    for i = 1, count do
      exact = exact + (height - line[i].at + base) * line[i].weight / UNIT
      local before_reach = math.floor((reach - line[i].at) * line[i].weight / UNIT) + 1
      shares[i] = math.max(0, math.min(math.ceil(exact - ROUNDING) - given, before_reach))
      given = given + shares[i]
    end
    return shares
  end

  -- Insertion sort, as little changes from one round to the next.
  function sort_by_time(line)
    for i = 2, #line do
      local flow, at = line[i], i - 1
      while at > 0 and line[at].at > flow.at do
        line[at + 1] = line[at]
        at = at - 1
      end
      line[at + 1] = flow
    end
  end
end
