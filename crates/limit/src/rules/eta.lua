-- Estimates when waiting calls will have passed a pace. Its tiers are buckets and windows; each window of a calendar is
-- taken to be as long as the longest one.
-- needs: now, rules/plan

-- The maximum of steps that are simulated. For calls beyond that, the time of the slowest tier is added.
local LIMIT_LOOKS = 24

-- Copies the enforced tiers of a plan for the simulation. They are marked as unchanged, so limit_flush doesn't write.
local function limit_pace_state(text, how)
  local buckets, windows, ahead = {}, {}, 0
  for _, tiers in ipairs(text ~= '' and limit_plan(text, how) or {}) do
    tiers.changed = false
    ahead = math.max(ahead, tiers.now - now_us)
    for _, tier in ipairs(tiers.is_shadow and {} or tiers) do
      if tier.full then
        buckets[#buckets + 1] = { level = tier.level, full = tier.full, limit = tier.limit, period = tier.period }
      else
        local left, ends = math.max(0, tier.limit - tier.count), tier.ends - tiers.now
        windows[#windows + 1] = { left = left, ends = ends, limit = tier.limit, period = tier.period }
      end
    end
  end
  return { buckets = buckets, windows = windows, ahead = ahead }
end

local function limit_copies(tiers)
  local copies = {}
  for i, tier in ipairs(tiers) do
    copies[i] = {
      level = tier.level, full = tier.full, left = tier.left, ends = tier.ends,
      limit = tier.limit, period = tier.period,
    }
  end
  return copies
end

-- µs until `n` calls of cost 1 have passed, each as soon as possible.
local function limit_pace_wait(look, n)
  local buckets, windows, at = look.buckets, look.windows, 0
  if #buckets == 0 and #windows == 0 then return look.ahead end

  -- µs until this many more calls have passed the buckets.
  local function drained(calls)
    local wait = 0
    for _, bucket in ipairs(buckets) do
      wait = math.max(wait, limit_div_ceil(bucket.level + calls * bucket.period - bucket.full, bucket.limit))
    end
    return wait
  end

  if #windows == 0 then return drained(n) + look.ahead end
  buckets, windows = limit_copies(buckets), limit_copies(windows)

  local function move(to, passed)
    for _, bucket in ipairs(buckets) do
      bucket.level = math.max(0, bucket.level + passed * bucket.period - (to - at) * bucket.limit)
    end
    for _, window in ipairs(windows) do
      window.left = window.left - passed
      if to >= window.ends then
        window.ends = window.ends + (math.floor((to - window.ends) / window.period) + 1) * window.period
        window.left = window.limit
      end
    end
    at, n = to, n - passed
  end

  for _ = 1, LIMIT_LOOKS do
    local opens, ends, passes = at + drained(1), math.huge, n
    for _, window in ipairs(windows) do
      if window.left <= 0 then opens = math.max(opens, window.ends) end
      ends, passes = math.min(ends, window.ends), math.min(passes, window.left)
    end
    if opens >= ends then
      move(opens, 0)
    else
      local all = at + drained(passes)
      if all >= ends then
        -- The first window ends before: until then only as many as the buckets allow.
        all = ends
        for _, bucket in ipairs(buckets) do
          local through = math.floor((bucket.full - bucket.level + (ends - 1 - at) * bucket.limit) / bucket.period)
          passes = math.min(passes, through)
        end
      elseif passes == n then
        return all + look.ahead
      end
      move(all, passes)
    end
  end
  local slowest = drained(n)
  for _, window in ipairs(windows) do
    local whole = math.floor(n / window.limit)
    slowest = math.max(slowest, window.ends - at + whole * window.period + drained(n - whole * window.limit))
  end
  return at + slowest + look.ahead
end
