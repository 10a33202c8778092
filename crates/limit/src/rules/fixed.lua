-- `fixed`: a count per window of the clock, ⌊(now + offset) / period⌋, or between the borders of a calendar. The count belongs
-- to the window of the time at which the state was written.
local function limit_windows(code, tier, advance)
  return {
    tier = tier,
    advance = advance,
    shift = limit_nothing,
    refill = function(tier) return tier.period end,

    read = function(tier, packed, at)
      local _, was
      _, was, tier.count, at = limit_unpack('<BI6I5', packed, at)
      return at, was
    end,

    write = function(tier)
      return limit_pack('<BI6I5', code, tier.period, tier.count)
    end,

    -- Nobody knows when in the old window the calls came: all of them count in the window of the last one.
    convert = function(tier, old)
      tier.count = old.count
    end,

    fill = function(tier)
      tier.count = math.max(tier.count, tier.limit)
    end,

    wait = function(tier, now, n)
      if n > tier.limit then return -1 end
      if tier.count + n <= tier.limit then return 0 end
      return tier.ends - now
    end,

    charge = function(tier, _, n)
      tier.count = math.min(tier.count + n, 2 ^ 40 - 1)
    end,

    refund = function(tier, _, n)
      tier.count = math.max(0, tier.count - n)
    end,

    left = function(tier, now)
      return math.max(0, tier.limit - tier.count), tier.ends - now
    end,
  }
end

limit_kinds[2] = function()
  local rule
  rule = limit_windows(2, function(text, at)
    local limit, period, offset
    limit, period, offset, at = limit_unpack('<I7I6I6', text, at)
    return { rule = rule, limit = limit, period = period, offset = offset, count = 0, ends = 0, waits = 0 }, at
  end, function(tier, last, now)
    local starts = now - (now + tier.offset) % tier.period
    if last < starts then tier.count = 0 end
    tier.ends = starts + tier.period
  end)
  return rule
end

-- Calendar windows are not all of one length, so the plan brings the borders around now: where this one and the next two
-- begin. A clock outside of them belongs to the nearest window: the count is kept rather than lost.
limit_kinds[4] = function()
  local rule
  rule = limit_windows(4, function(text, at)
    local limit, period, b1, b2, b3
    limit, period, b1, b2, b3, at = limit_unpack('<I7I6I7I7I7', text, at)
    return {
      rule = rule, limit = limit, period = period, b1 = b1, b2 = b2, b3 = b3, count = 0, ends = 0, waits = 0,
    }, at
  end, function(tier, last, now)
    if now < tier.b1 then
      tier.ends = tier.b1
    elseif now < tier.b2 then
      if last < tier.b1 then tier.count = 0 end
      tier.ends = tier.b2
    else
      if last < tier.b2 then tier.count = 0 end
      -- Past the last border: a second later, a newer plan knows more.
      tier.ends = now < tier.b3 and tier.b3 or now + 1000000
    end
  end)
  return rule
end
