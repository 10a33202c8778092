-- Decisions: first every tier of every scope of a plan is judged, then, if all that are enforced pass, all are charged.

-- Judges; charges nothing. The verdict has `allowed`, and `retry`: µs until it would be, -1 for never. It is good until the
-- next one is made.
local function limit_check(text, queue)
  local plan = limit_plan(text)
  for i = 1, #plan do
    local asked = plan[i]
    local scope = asked.scope
    for j = 1, #scope do
      local tier = scope[j]
      local wait = tier.rule.wait(tier, scope.now, asked.n, queue)
      if wait ~= 0 then
        if wait > 0 then wait = wait + scope.ahead end
        asked.passed = false
        if not asked.shadow then
          plan.allowed = false
          plan.retry = (wait < 0 or plan.retry < 0) and -1 or math.max(plan.retry, wait)
        end
      end
      tier.waits = wait
    end
  end
  return plan
end

-- How many are taken ahead, of what is left in all tiers of a scope beyond what was asked.
local function limit_ahead(asked)
  local scope, least = asked.scope, math.huge
  for i = 1, #scope do
    local left = scope[i].rule.left(scope[i], scope.now)
    if left < least then least = left end
  end
  return math.max(0, limit_floor((least - asked.n) / asked.share))
end

local function limit_take(asked, id)
  local scope = asked.scope
  asked.taken = asked.share == 0 and asked.n or asked.n + limit_ahead(asked)
  for i = 1, #scope do
    scope[i].rule.charge(scope[i], scope.now, asked.taken, id)
  end
  scope.changed = true
end

local function limit_deny(asked)
  local scope = asked.scope
  for i = 1, #scope do
    local tier = scope[i]
    if tier.count_denied and asked.n <= tier.limit then
      tier.rule.charge(tier, scope.now, asked.n)
      scope.changed = true
    end
  end
end

-- Charges what was judged and allowed. A refused request charges nothing, but in logs that count the denied. A shadow that
-- would have refused isn't charged either.
local function limit_charge(verdict)
  for i = 1, #verdict do
    local asked = verdict[i]
    if asked.n > 0 then
      if not asked.passed then
        limit_deny(asked)
      elseif verdict.allowed then
        limit_take(asked, verdict.id)
      end
    end
  end
end

-- A verdict as a flat list of whole numbers, since lists within lists cost more:
--   µs of the Redis clock  1 when allowed  retry in µs, -1 never  then per scope: how many were taken  then per tier: µs until it
--   would pass (0: now, -1: never)  how many more would pass now  µs until all is left again
local function limit_report(verdict)
  local report, at = { now_us, verdict.allowed and 1 or 0, verdict.retry, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil }, 3
  for i = 1, #verdict do
    local asked = verdict[i]
    local scope = asked.scope
    at = at + 1
    report[at] = asked.taken
    for j = 1, #scope do
      local tier = scope[j]
      local left, resets = tier.rule.left(tier, scope.now)
      report[at + 1], report[at + 2], report[at + 3] = tier.waits, left, resets + scope.ahead
      at = at + 3
    end
  end
  return report
end
