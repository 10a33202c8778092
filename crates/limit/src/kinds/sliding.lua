-- `sliding`: the count of this window, plus that of the previous one, weighted by its part in the sliding window. An
-- estimate, which assumes that the calls of the previous window are evenly spread.
if code == SLIDING then
  -- Converts the counts at `last` to those of the previous window and of the current one, which is `into` µs old.
  local function counts_at(prev, cur, last, now, into, period)
    local windows = (now - into - (last - last % period)) / period
    if windows == 0 then return prev, cur end
    return windows == 1 and cur or 0, 0
  end

  local rule
  rule = {
    is_count = true,
    numbers = 'I5I5',

    tier = function(text, at)
      local limit, period
      limit, period, at = limit_unpack('<I7I6', text, at)
      return { rule = rule, limit = limit, period = period, prev = 0, cur = 0, into = 0, waits = 0 }, at
    end,

    load = function(tier, packed, from, last, now)
      local prev, cur, period, into = 0, 0, tier.period, now % tier.period
      if packed then
        prev, cur = limit_unpack('<I5I5', packed, from + 7)
        prev, cur = counts_at(prev, cur, last, now, into, period)
        from = from + 17
      end
      tier.prev, tier.cur, tier.into = prev, cur, into
      return from
    end,

    pass = function(tier, state, at, last, now, n)
      local period = tier.period
      local into, prev, cur = now % period, state[at], state[at + 1]
      if last < now - into then prev, cur = counts_at(prev, cur, last, now, into, period) end
      cur = cur + n
      if prev * (period - into) + cur * period > tier.limit * period then return nil end
      state[at], state[at + 1] = prev, cur
      return at + 3
    end,

    wait = function(tier, _, n)
      local limit, period, into = tier.limit, tier.period, tier.into
      if n > limit then return -1 end
      if tier.prev * (period - into) + (tier.cur + n) * period <= limit * period then return 0 end
      if tier.cur + n <= limit then
        return period - limit_div_floor((limit - tier.cur - n) * period, tier.prev) - into
      end
      -- Not within this window. In the next one, its count becomes the previous one.
      return 2 * period - into - limit_div_floor((limit - n) * period, tier.cur)
    end,

    charge = function(tier, _, n)
      local before, most = tier.cur, 2 * tier.limit
      local cur = before + n
      if cur > most then cur = before > most and before or most end
      tier.cur = cur
    end,

    left = function(tier)
      local rest = tier.period - tier.into
      local left = tier.limit - tier.cur - limit_div_ceil(tier.prev * rest, tier.period)
      local resets = tier.cur > 0 and rest + tier.period or tier.prev > 0 and rest or 0
      return left > 0 and left or 0, resets
    end,

    write = function(tier)
      return limit_pack('<BI6I5I5', SLIDING, tier.period, tier.prev, tier.cur)
    end,

    seldom = function()
      return {
        read = function(packed, at)
          local _, was, prev, cur
          _, was, prev, cur, at = limit_unpack('<BI6I5I5', packed, at)
          return { prev = prev, cur = cur }, was, at
        end,

        shift = function() end,
        refill = function(tier) return 2 * tier.period end,

        convert = function(tier, old, was)
          local prev, cur = old.prev, old.cur
          -- The previous window may be within the current one, if that is longer.
          if was < tier.period then prev, cur = 0, prev + cur end
          -- Keeps what was consumed beyond a lowered limit, as long as the numbers are exact, and fit into five bytes.
          local most = math.min(limit_div_floor(2 ^ 51, tier.period), 2 ^ 40 - 1)
          tier.prev, tier.cur = math.min(prev, most), math.min(cur, most)
        end,

        fill = function(tier)
          tier.cur = math.max(tier.cur, tier.limit)
        end,

        refund = function(tier, now, n, _, charged)
          local began = now - tier.into
          if not charged or charged >= began then
            tier.cur = math.max(0, tier.cur - n)
          elseif charged >= began - tier.period then
            tier.prev = math.max(0, tier.prev - n)
          end
        end,
      }
    end,
  }
  limit_rules[SLIDING] = rule
  return rule
end
