-- `bucket` and `gate`: leaky bucket, token bucket and GCRA in one rule. The level is in µs·calls: a call adds one period,
-- each µs takes `limit` away.
limit_kinds[1] = function()
  local rule
  rule = {
    shift = limit_nothing,
    refill = function(tier) return tier.full / tier.limit end,

    tier = function(text, at)
      local limit, period, burst
      limit, period, burst, at = limit_unpack('<I7I6I7', text, at)
      return {
        rule = rule, limit = limit, period = period, burst = burst, full = burst * period, level = 0, waits = 0,
      }, at
    end,

    read = function(tier, packed, at)
      local _, was
      _, was, tier.level, at = limit_unpack('<BI6I7', packed, at)
      return at, was
    end,

    write = function(tier)
      return limit_pack('<BI6I7', 1, tier.period, tier.level)
    end,

    convert = function(tier, old, was)
      tier.level = old.level
      if was ~= tier.period then
        -- Whole calls and the rest apart: the product of a level and a period would not be exact.
        local calls = limit_div_down(old.level, was)
        local rest = old.level - calls * was
        tier.level = math.min(calls, tier.burst) * tier.period + math.ceil(rest * (tier.period / was))
      end
      tier.level = math.min(tier.level, tier.full)
    end,

    fill = function(tier)
      tier.level = tier.full
    end,

    advance = function(tier, last, now)
      -- After a long quiet time the product isn't exact, but then it isn't needed either.
      local level = tier.level - (now - last) * tier.limit
      tier.level = level > 0 and level or 0
    end,

    wait = function(tier, _, n)
      if n > tier.burst then return -1 end
      local excess = tier.level + n * tier.period - tier.full
      if excess <= 0 then return 0 end
      return limit_div_up(excess, tier.limit)
    end,

    -- What was counted without being asked for may pass the brim: remembered up to once more its height.
    charge = function(tier, _, n)
      tier.level = math.min(tier.level + n * tier.period, 2 * tier.full)
    end,

    refund = function(tier, _, n)
      tier.level = math.max(0, tier.level - n * tier.period)
    end,

    left = function(tier)
      return math.max(0, limit_div_down(tier.full - tier.level, tier.period)), limit_div_up(tier.level, tier.limit)
    end,
  }
  return rule
end
