-- `fixed`: a count per window, ⌊(now + offset) / period⌋, or between the borders of a calendar. The count belongs to
-- the window in which the state was written.
--
-- For a pace, a call belongs to the window in which it is made. So a window grants no calls at its end that might be
-- made after it. If that would close more than half of the window, a window begins instead with the count of the
-- previous one, as long as calls that were granted there may still be made.
if code == EPOCH or code == CALENDAR then
  local function is_open(tier, now)
    return limit_late * 2 > tier.period or now + limit_late <= tier.ends
  end

  local function counts_from(last, starts)
    return last >= starts or limit_unsent > starts
  end

  local rule = {
    is_count = true,
    numbers = 'I5',
    is_window = true,

    wait = function(tier, now, n)
      if n > tier.limit then return -1 end
      if tier.count + n <= tier.limit and is_open(tier, now) then return 0 end
      return tier.ends - now
    end,

    charge = function(tier, _, n)
      local count, most = tier.count + n, 2 ^ 40 - 1
      tier.count = count < most and count or most
    end,

    left = function(tier, now)
      local left = is_open(tier, now) and tier.limit - tier.count or 0
      return left > 0 and left or 0, tier.ends - now
    end,

    write = function(tier)
      return limit_pack('<BI6I5', code, tier.period, tier.count)
    end,

    seldom = function()
      return {
        read = function(packed, at)
          local _, was, count
          _, was, count, at = limit_unpack('<BI6I5', packed, at)
          return { count = count }, was, at
        end,

        shift = function() end,
        refill = function(tier) return tier.period end,

        -- The times of the calls in the old window are unknown, so all count in the window of the last one.
        convert = function(tier, old)
          tier.count = old.count
        end,

        fill = function(tier)
          tier.count = math.max(tier.count, tier.limit)
        end,

        refund = function(tier, _, n, _, charged)
          if not charged or charged >= tier.starts then tier.count = math.max(0, tier.count - n) end
        end,
      }
    end,

    tier = nil,
    load = nil,
    pass = nil,
  }

  -- The start and the end of the window of `now`.
  local window_of

  if code == EPOCH then
    function rule.tier(text, at)
      local limit, period, offset
      limit, period, offset, at = limit_unpack('<I7I6I6', text, at)
      return {
        rule = rule, limit = limit, period = period, offset = offset, count = 0, starts = 0, ends = 0, waits = 0,
      }, at
    end

    function window_of(tier, now)
      local starts = now - (now + tier.offset) % tier.period
      return starts, starts + tier.period
    end
  else
    -- Calendar windows differ in length, so the plan contains the starts of the current window and of the next two. A
    -- time outside of them belongs to the nearest window, so that the count isn't lost.
    function rule.tier(text, at)
      local limit, period, b1, b2, b3
      limit, period, b1, b2, b3, at = limit_unpack('<I7I6I7I7I7', text, at)
      return {
        rule = rule, limit = limit, period = period, b1 = b1, b2 = b2, b3 = b3,
        count = 0, starts = 0, ends = 0, waits = 0,
      }, at
    end

    function window_of(tier, now)
      local b1, b2, b3 = tier.b1, tier.b2, tier.b3
      if now < b1 then return 0, b1 end
      if now < b2 then return b1, b2 end
      -- After the last border: a newer plan will have later ones; until then, waits end after a second.
      return b2, now < b3 and b3 or now + 1000000
    end
  end

  function rule.load(tier, packed, from, last, now)
    tier.starts, tier.ends = window_of(tier, now)
    tier.count = 0
    if not packed then return from end
    if counts_from(last, tier.starts) then tier.count = limit_unpack('<I5', packed, from + 7) end
    return from + 12
  end

  function rule.pass(tier, state, at, last, now, n)
    local count = last >= window_of(tier, now) and state[at] + n or n
    if count > tier.limit then return nil end
    state[at] = count
    return at + 2
  end

  limit_rules[code] = rule
  return rule
end
