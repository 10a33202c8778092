-- `bucket` and `gate`: leaky bucket, token bucket and GCRA in one rule. The level is in µs·calls: a call adds `period`,
-- and each µs subtracts `limit`.
if code == BUCKET then
  local rule
  rule = {
    is_count = true,
    numbers = 'I7',

    tier = function(text, at)
      local limit, period, burst
      limit, period, burst, at = limit_unpack('<I7I6I7', text, at)
      local is_slowed = limit_speed < 1000
      if is_slowed then limit = limit * limit_speed / 1000 end
      local ahead = math.floor(limit_ahead * limit)
      return {
        rule = rule, limit = limit, period = period, burst = burst, full = burst * period + ahead, ahead = ahead,
        is_slowed = is_slowed, level = 0, waits = 0,
      }, at
    end,

    load = function(tier, packed, from, last, now)
      if not packed then
        tier.level = 0
        return from
      end
      -- After a long idle time the product isn't exact, but then the level is 0 anyway.
      local level = limit_unpack('<I7', packed, from + 7) - (now - last) * tier.limit
      if level < 0 then level = 0 end
      tier.level = tier.is_slowed and math.ceil(level) or level
      return from + 14
    end,

    pass = function(tier, state, at, last, now, n)
      local level = state[at] - (now - last) * tier.limit
      if level < 0 then level = 0 end
      level = level + n * tier.period
      if level > tier.full then return nil end
      state[at] = level
      return at + 2
    end,

    wait = function(tier, _, n)
      if n > tier.burst then return -1 end
      local excess = tier.level + n * tier.period - tier.full
      if excess <= 0 then return 0 end
      return limit_div_ceil(excess, tier.limit)
    end,

    -- Calls that were counted without a check may exceed `full`. The level is limited to twice that, or to what it was
    -- before the limit was lowered.
    --
    -- A call that is made late must not drain before it is made, so it counts from the latest time of the call.
    charge = function(tier, _, n)
      local undrained = n > 0 and limit_undrained * tier.limit or 0
      local before = math.max(tier.level, undrained)
      local level, most = before + n * tier.period, 2 * tier.full + undrained
      if level > most then level = before > most and before or most end
      tier.level = level
    end,

    left = function(tier)
      local left = limit_div_floor(tier.full - tier.level, tier.period)
      return left > 0 and left or 0, limit_div_ceil(tier.level, tier.limit)
    end,

    write = function(tier)
      return limit_pack('<BI6I7', BUCKET, tier.period, tier.level)
    end,

    seldom = function()
      return {
        shift = function() end,
        refill = function(tier) return tier.full / tier.limit end,

        read = function(packed, at)
          local _, was, level
          _, was, level, at = limit_unpack('<BI6I7', packed, at)
          return { level = level }, was, at
        end,

        -- Keeps what was consumed beyond a lowered burst, as long as the numbers are exact, because replicas with the
        -- old and the new policy convert the state back and forth. A pace drops it, and continues at the lower rate.
        convert = function(tier, old, was, is_pace)
          local most = is_pace and tier.full or 2 ^ 52
          tier.level = old.level
          if was ~= tier.period then
            -- Whole calls and the rest separately: the product of a level and a period would not be exact.
            local calls = limit_div_floor(old.level, was)
            local rest = old.level - calls * was
            calls = math.min(calls, limit_div_floor(most, tier.period))
            tier.level = calls * tier.period + math.ceil(rest * (tier.period / was))
          end
          tier.level = math.min(tier.level, most)
        end,

        fill = function(tier)
          tier.level = tier.full
        end,

        refund = function(tier, _, n)
          tier.level = math.max(0, tier.level - n * tier.period)
        end,
      }
    end,
  }
  limit_rules[BUCKET] = rule
  return rule
end
