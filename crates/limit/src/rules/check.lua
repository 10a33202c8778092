-- Decisions: first every tier of every scope of a plan is judged, then, if all that are enforced pass, all are charged.

-- Judges; charges nothing. The verdict has `allowed`, and `retry`: µs until it would be, -1 for never. It is good until the
-- next one is made.
local function limit_check(text, queue)
  local plan = limit_plan(text)
  for i = 1, #plan do
    local scope = plan[i]
    local n, now = scope.n, scope.now
    for j = 1, #scope do
      local tier = scope[j]
      local wait = tier.rule.wait(tier, now, n, queue)
      if wait ~= 0 then
        if wait > 0 then wait = wait + now - now_us end
        scope.passed = false
        if not scope.shadow then
          plan.allowed = false
          plan.retry = (wait < 0 or plan.retry < 0) and -1 or math.max(plan.retry, wait)
        end
      end
      tier.waits = wait
    end
  end
  return plan
end

-- Takes what is asked of a scope and, of what is left in all its tiers beyond that, the share to take ahead.
local function limit_take(scope, id)
  local n, now = scope.n, scope.now
  if scope.share > 0 then
    local least = math.huge
    for i = 1, #scope do least = math.min(least, (scope[i].rule.left(scope[i], now))) end
    n = n + math.max(0, limit_div_down(least - n, scope.share))
  end
  for i = 1, #scope do
    local tier = scope[i]
    tier.rule.charge(tier, now, n, id)
  end
  scope.taken, scope.changed = n, true
end

-- Charges what was judged and allowed. A refused request charges nothing, but in logs that count the denied. A shadow that
-- would have refused isn't charged either.
local function limit_charge(verdict)
  for i = 1, #verdict do
    local scope = verdict[i]
    if scope.n > 0 then
      if scope.passed then
        if verdict.allowed then limit_take(scope, verdict.id) end
      else
        for j = 1, #scope do
          local tier = scope[j]
          if tier.count_denied and scope.n <= tier.limit then
            tier.rule.charge(tier, scope.now, scope.n)
            scope.changed = true
          end
        end
      end
    end
  end
end

-- A verdict as a flat list of whole numbers, since lists within lists cost more:
--   µs of the Redis clock  1 when allowed  retry in µs, -1 never  then per scope: how many were taken  then per tier: µs until it
--   would pass (0: now, -1: never)  how many more would pass now  µs until all is left again
local function limit_report(verdict)
  local report, at = {
    now_us, verdict.allowed and 1 or 0, verdict.retry,
    nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil,
  }, 3
  for i = 1, #verdict do
    local scope = verdict[i]
    local now = scope.now
    at = at + 1
    report[at] = scope.taken
    for j = 1, #scope do
      local tier = scope[j]
      local left, resets = tier.rule.left(tier, now)
      report[at + 1], report[at + 2], report[at + 3] = tier.waits, left, resets + now - now_us
      at = at + 3
    end
  end
  return report
end
