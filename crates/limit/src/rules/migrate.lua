-- Converts the state of a scope that was written for other tiers, or before the Redis clock was set. Returns the state
-- for these tiers, when it was written, and the time to use as now.
-- needs: now, rules/kinds
-- `is_unseen`: whether it was written before the caller joined.
local function limit_migrate(tiers, packed, lost_is_full, elapsed, is_unseen)
  -- The mark of a state that no tier took over; and the most bytes of these states.
  local NOT_TAKEN, MOST_BYTES = 255, 16384
  local old, fresh = {}, {}
  local last, print, from = now_us, nil, nil
  if packed then last, print, from = limit_unpack('<I7I4', packed) end
  local same = print == tiers.print
  for _, tier in ipairs(tiers) do
    from = tier.rule.load(tier, same and packed, from, last, last)
  end

  -- Gives tiers without a state one of their kind that fits and isn't used yet.
  local function take(fits)
    for i, tier in ipairs(tiers) do
      for j, candidate in ipairs(old) do
        if fresh[i] and candidate.rule == tier.rule and not candidate.is_taken and fits(tier, candidate, i == j) then
          tier.rule.seldom().convert(tier, candidate.state, candidate.was, tiers.lost_is_full)
          if candidate.written < last then
            tier.rule.load(tier, tier.rule.write(tier), 1, candidate.written, last)
          end
          candidate.is_taken, fresh[i] = true, nil
        end
      end
    end
  end

  local function has_its_period(tier, candidate)
    return candidate.was == tier.period
  end

  -- Reads the states of the old tiers, and then those that none of them had taken over (scope.lua).
  local function read_old()
    while packed and from <= #packed do
      local written = last
      if string.byte(packed, from) == NOT_TAKEN then
        written, from = math.min(last, (limit_unpack('<I7', packed, from + 8))), from + 15
      end
      local code, at = string.byte(packed, from), from
      local rule = limit_rules[code] or limit_kind(code)
      if not rule then return end
      local state, was
      state, was, from = rule.seldom().read(packed, from)
      local text = string.sub(packed, at, from - 1)
      old[#old + 1] = { rule = rule, state = state, was = was, written = written, text = text, is_taken = false }
    end
  end

  -- Packs the old states that no tier took over.
  local function not_taken()
    local rest, bytes = {}, 0
    for _, candidate in ipairs(old) do
      bytes = bytes + #candidate.text
      if not candidate.is_taken and bytes <= MOST_BYTES then
        rest[#rest + 1] = limit_pack('<BI7I7', NOT_TAKEN, now_us, candidate.written) .. candidate.text
      end
    end
    return table.concat(rest)
  end

  -- Gives each tier the old state of the same kind and period, or else of the same kind. Of several with the same
  -- period (buckets of 10/s and 30/s have the same), the one at the same place comes first. A new tier has nothing
  -- consumed. Without any state nothing was consumed, or everything if `lost_is_full`.
  local function adopt()
    for i = 1, #tiers do fresh[i] = true end
    read_old()
    take(function(tier, candidate, is_at_its_place) return is_at_its_place and has_its_period(tier, candidate) end)
    take(has_its_period)
    take(function() return true end)
    for i in pairs(lost_is_full and not packed and fresh or {}) do
      tiers[i].rule.seldom().fill(tiers[i], now_us)
    end
  end

  -- Handles a clock that was set forward: no more than `elapsed` has passed. If the caller wasn't there, windows of the
  -- clock end by the clock: otherwise the use of one would reduce the whole next one.
  local function put_forward(by)
    local last_known = now_us - elapsed
    for _, tier in ipairs(tiers) do
      local rule = tier.rule
      if is_unseen and rule.is_window then
        rule.load(tier, rule.write(tier), 1, last, last_known)
      else
        rule.seldom().shift(tier, by)
      end
    end
    last = last_known
  end

  local function set_clock()
    local ahead, shortest = last - now_us, math.huge
    if ahead <= 0 then
      if elapsed and -ahead > elapsed then put_forward(-ahead - elapsed) end
      return now_us
    end
    for _, tier in ipairs(tiers) do shortest = math.min(shortest, tier.rule.seldom().refill(tier)) end
    -- Set back a little: time stands still until the clock reaches the old time.
    if ahead <= shortest then return last end
    -- Set back by more than the refill of a tier: no time has passed, and that tier has nothing left.
    for _, tier in ipairs(tiers) do
      local rule = tier.rule.seldom()
      rule.shift(tier, -ahead)
      if ahead > rule.refill(tier) then rule.fill(tier, now_us) end
    end
    last, tiers.changed = now_us, true
    return now_us
  end

  local rest = same and packed and string.sub(packed, from) or ''
  if not same then
    adopt()
    -- All processes of a bucket change its pace at once.
    rest = tiers.lost_is_full and '' or not_taken()
    tiers.changed = true
  end
  local now, mended = set_clock(), limit_pack('<I7I4', last, tiers.print)
  for _, tier in ipairs(tiers) do mended = mended .. tier.rule.write(tier) end
  return mended .. rest, last, now
end
