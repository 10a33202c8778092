-- `fixed` with align `first`: a window begins with the first call after the one before has ended.
limit_kinds[3] = function()
  local rule
  rule = {
    refill = function(tier) return tier.period end,

    tier = function(text, at)
      local limit, period
      limit, period, at = limit_unpack('<I7I6', text, at)
      return { rule = rule, limit = limit, period = period, starts = 0, count = 0, waits = 0 }, at
    end,

    read = function(tier, packed, at)
      local _, was
      _, was, tier.starts, tier.count, at = limit_unpack('<BI6I7I5', packed, at)
      return at, was
    end,

    write = function(tier)
      return limit_pack('<BI6I7I5', 3, tier.period, tier.starts, tier.count)
    end,

    convert = function(tier, old)
      tier.starts, tier.count = old.starts, old.count
    end,

    fill = function(tier, now)
      tier.starts, tier.count = now, math.max(tier.count, tier.limit)
    end,

    shift = function(tier, by)
      tier.starts = math.max(0, tier.starts + by)
    end,

    advance = function(tier, _, now)
      if tier.count == 0 or now - tier.starts >= tier.period then tier.starts, tier.count = now, 0 end
    end,

    wait = function(tier, now, n)
      if n > tier.limit then return -1 end
      if tier.count + n <= tier.limit then return 0 end
      return tier.starts + tier.period - now
    end,

    charge = function(tier, _, n)
      tier.count = math.min(tier.count + n, 2 ^ 40 - 1)
    end,

    refund = function(tier, _, n)
      tier.count = math.max(0, tier.count - n)
    end,

    left = function(tier, now)
      local resets = tier.count == 0 and 0 or tier.starts + tier.period - now
      return math.max(0, tier.limit - tier.count), resets
    end,
  }
  return rule
end
