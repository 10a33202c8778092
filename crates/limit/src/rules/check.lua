-- Decisions: checks every tier of every scope of a plan; then, if all enforced ones allow the request, charges all.
-- needs: now, rules/plan

-- Notes how long the request must wait for a tier; -1: forever.
local function limit_note(verdict, tiers, tier, wait)
  if wait > 0 then wait = wait + tiers.now - now_us end
  tier.waits = wait
  if not tiers.is_shadow then
    verdict.allowed = false
    verdict.retry = (wait < 0 or verdict.retry < 0) and -1 or math.max(verdict.retry, wait)
  end
end

-- Checks a request without charging it. The verdict has `allowed`, and `retry`: µs until a retry may be allowed, or -1.
-- It is valid until the next check.
local function limit_check(text, queue)
  local plan = limit_plan(text)
  for i = 1, #plan do
    local tiers = plan[i]
    local n, now = tiers.n, tiers.now
    for j = 1, #tiers do
      local tier = tiers[j]
      local wait = tier.rule.wait(tier, now, n, queue)
      tier.waits = wait
      if wait ~= 0 then
        tiers.passed = false
        limit_note(plan, tiers, tier, wait)
      end
    end
  end
  return plan
end

-- Charges a request to a scope, and takes ahead a share of what is left in all of its tiers.
local function limit_take(tiers, id)
  local n, now = tiers.n, tiers.now
  if tiers.share > 0 then
    local least = math.huge
    for i = 1, #tiers do least = math.min(least, (tiers[i].rule.left(tiers[i], now))) end
    n = n + math.max(0, limit_div_floor(least - n, tiers.share))
  end
  for i = 1, #tiers do
    local tier = tiers[i]
    tier.rule.charge(tier, now, n, id)
  end
  tiers.taken, tiers.changed = n, true
end

-- Charges a checked request if it is allowed. A refused one is only charged to logs that count denied requests, which
-- makes the wait longer. Shadow policies that would have refused it aren't charged.
local function limit_charge(verdict)
  for i = 1, #verdict do
    local tiers = verdict[i]
    local n, now = tiers.n, tiers.now
    if n > 0 and tiers.passed then
      if verdict.allowed then limit_take(tiers, verdict.id) end
    elseif n > 0 then
      for j = 1, #tiers do
        local tier = tiers[j]
        if tier.count_denied and n <= tier.limit then
          tier.rule.charge(tier, now, n)
          tiers.changed = true
          limit_note(verdict, tiers, tier, tier.rule.wait(tier, now, n))
        end
      end
    end
  end
end

-- A verdict as a flat list of integers, as nested lists cost more:
--   µs of the Redis clock  1 if allowed  retry in µs, -1 never  then per scope: how many were taken
--   then per tier: µs until it allows the request (0: now, -1: never)  how many more it allows now  µs until it is full
local function limit_report(verdict)
  local report, at = {
    now_us, verdict.allowed and 1 or 0, verdict.retry,
    nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil,
  }, 3
  for i = 1, #verdict do
    local tiers = verdict[i]
    local now = tiers.now
    at = at + 1
    report[at] = tiers.taken
    for j = 1, #tiers do
      local tier = tiers[j]
      local left, resets = tier.rule.left(tier, now)
      report[at + 1], report[at + 2], report[at + 3] = tier.waits, left, resets + now - now_us
      at = at + 3
    end
  end
  return report
end

-- Instead of a report, the concatenated new states of all scopes, from which the caller computes the same with its own
-- rules. nil unless the request was allowed and charged to all scopes, and all states are short.
local function limit_states(verdict)
  if not verdict.allowed then return nil end
  local states
  for i = 1, #verdict do
    local tiers = verdict[i]
    if not (tiers.are_counts and tiers.taken > 0 and tiers.share == 0) or tiers.rest then return nil end
    if tiers.changed then limit_keep(tiers) end
    local packed = limit_packed[tiers.key]
    states = states and states .. packed or packed
  end
  return states
end
