-- Stream kind: how many calls each flow gets. `line` has flows { at: virtual time, weight }.
-- needs: kind/flows

-- All else stays inside: a script has no room for more than 200 names.
local divide, sort_by_time
do
  -- A share is rounded in favour of those who come first, but for what is lost in sums.
  local ROUNDING = 0.000001

  -- How many of `n` calls each of the first gets, so that their times end level, as vessels are filled. The line is
  -- sorted. A flow behind it may be at `reach`: no call begins later, so it may be that fewer are given.
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

  -- By insertion: from one round to the next little changes.
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
