-- `fixed` with align `first`: a window begins with the first call after the one before has ended.
if code == 3 then
  local rule
  rule = {
    tier = function(text, at, packed, from, _, now)
      local starts, count, limit, period = now, 0
      limit, period, at = limit_unpack('<I7I6', text, at)
      if packed then
        _, _, starts, count, from = limit_unpack('<BI6I7I5', packed, from)
        if count == 0 or now - starts >= period then starts, count = now, 0 end
      end
      local ends = starts + period
      return { rule = rule, limit = limit, period = period, starts = starts, ends = ends, count = count, waits = 0 }, at, from
    end,

    wait = function(tier, now, n)
      if n > tier.limit then return -1 end
      if tier.count + n <= tier.limit then return 0 end
      return tier.starts + tier.period - now
    end,

    charge = function(tier, _, n)
      local count, most = tier.count + n, 2 ^ 40 - 1
      tier.count = count < most and count or most
    end,

    left = function(tier, now)
      local left, resets = tier.limit - tier.count, tier.count == 0 and 0 or tier.starts + tier.period - now
      return left > 0 and left or 0, resets
    end,

    write = function(tier)
      return limit_pack('<BI6I7I5', 3, tier.period, tier.starts, tier.count)
    end,

    seldom = function()
      return {
        read = function(packed, at)
          local _, was, starts, count
          _, was, starts, count, at = limit_unpack('<BI6I7I5', packed, at)
          return { starts = starts, count = count }, was, at
        end,

        refill = function(tier) return tier.period end,

        convert = function(tier, old)
          tier.starts, tier.count = old.starts, old.count
        end,

        fill = function(tier, now)
          tier.starts, tier.count = now, math.max(tier.count, tier.limit)
        end,

        shift = function(tier, by)
          tier.starts = math.max(0, tier.starts + by)
        end,

        refund = function(tier, _, n)
          tier.count = math.max(0, tier.count - n)
        end,
      }
    end,
  }
  limit_rules[3] = rule
  return rule
end
