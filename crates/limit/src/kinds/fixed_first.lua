-- `fixed` with align `first`: a window begins with the first call after the previous window has ended.
--
-- For a pace, it begins at the latest time of that call, and grants no calls at its end that might be made after it. If
-- that would close more than half of the window, the next one begins a period after the last call instead.
if code == FIRST then
  local function is_open(tier, now)
    return limit_late * 2 > tier.period or tier.count == 0 or now + 2 * limit_late <= tier.ends
  end

  local function is_over(starts, period, now)
    local ends = starts + period
    return now >= ends and (limit_unsent <= ends or now >= limit_unsent + period)
  end

  local rule
  rule = {
    is_count = true,
    numbers = 'I7I5',
    is_window = true,
    begins_at_latest = true,

    tier = function(text, at)
      local limit, period
      limit, period, at = limit_unpack('<I7I6', text, at)
      return { rule = rule, limit = limit, period = period, starts = 0, ends = 0, count = 0, waits = 0 }, at
    end,

    load = function(tier, packed, from, _, now)
      local starts, count, period = now, 0, tier.period
      if packed then
        starts, count = limit_unpack('<I7I5', packed, from + 7)
        from = from + 19
        if count == 0 or is_over(starts, period, now) then starts, count = now, 0 end
      end
      local ends = starts + period
      if ends <= now then ends = limit_unsent + period end
      tier.starts, tier.ends, tier.count = starts, ends, count
      return from
    end,

    pass = function(tier, state, at, _, now, n)
      local starts, count = state[at], state[at + 1]
      if count == 0 or now >= starts + tier.period then starts, count = now, 0 end
      count = count + n
      if count > tier.limit then return nil end
      state[at], state[at + 1] = starts, count
      return at + 3
    end,

    wait = function(tier, now, n)
      if n > tier.limit then return -1 end
      if tier.count + n <= tier.limit and is_open(tier, now) then return 0 end
      return tier.ends - now
    end,

    charge = function(tier, now, n)
      if n > 0 and tier.count == 0 then
        tier.starts = now + limit_late
        tier.ends = tier.starts + tier.period
      end
      local count, most = tier.count + n, 2 ^ 40 - 1
      tier.count = count < most and count or most
    end,

    left = function(tier, now)
      local left, resets = is_open(tier, now) and tier.limit - tier.count or 0, tier.count == 0 and 0 or tier.ends - now
      return left > 0 and left or 0, resets
    end,

    write = function(tier)
      return limit_pack('<BI6I7I5', FIRST, tier.period, tier.starts, tier.count)
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

        refund = function(tier, _, n, _, charged)
          if not charged or charged >= tier.starts then tier.count = math.max(0, tier.count - n) end
        end,
      }
    end,
  }
  limit_rules[FIRST] = rule
  return rule
end
