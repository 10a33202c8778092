-- `log`: the time and cost of each call of the last period. Exact, but its state grows with its limit. Entries stay
-- packed, nine bytes each, the oldest first; only those that expire are unpacked.
if code == LOG then
  local ENTRY = 9

  local function entry(entries, at)
    return limit_unpack('<I7I2', entries, at)
  end

  local function kept(packed, at)
    local _, was, sum, bytes
    _, was, sum, bytes, at = limit_unpack('<BI6I5I4', packed, at)
    return sum, string.sub(packed, at, at + bytes - 1), at + bytes, was
  end

  local function newest(tier)
    return entry(tier.entries, #tier.entries - ENTRY + 1)
  end

  local rule
  rule = {
    tier = function(text, at)
      local limit, period, gap, count_denied
      limit, period, gap, count_denied, at = limit_unpack('<I7I6I6B', text, at)
      return {
        rule = rule, limit = limit, period = period, gap = gap, count_denied = count_denied == 1,
        sum = 0, entries = '', waits = 0,
      }, at
    end,

    load = function(tier, packed, from, _, now)
      local sum, entries = 0, ''
      if packed then
        sum, entries, from = kept(packed, from)
        local leaves = 1
        while leaves <= #entries do
          local time, n = entry(entries, leaves)
          if now - time < tier.period then break end
          sum, leaves = sum - n, leaves + ENTRY
        end
        if leaves > 1 then entries = string.sub(entries, leaves) end
      end
      tier.sum, tier.entries = sum, entries
      return from
    end,

    wait = function(tier, now, n)
      if n > tier.limit then return -1 end
      local wait, excess, at = 0, tier.sum + n - tier.limit, 1
      if n > 0 and tier.entries ~= '' then wait = math.max(0, newest(tier) + tier.gap - now) end
      while excess > 0 do
        local time, freed = entry(tier.entries, at)
        excess, at = excess - freed, at + ENTRY
        wait = math.max(wait, time + tier.period - now)
      end
      return wait
    end,

    charge = function(tier, now, n)
      tier.sum = tier.sum + n
      tier.entries = tier.entries .. limit_pack('<I7I2', now, n)
      -- Denied calls can exceed the limit. Older entries than those that fill the limit have no effect.
      local at = 1
      while true do
        local _, oldest = entry(tier.entries, at)
        if tier.sum - oldest < tier.limit then break end
        tier.sum, at = tier.sum - oldest, at + ENTRY
      end
      if at > 1 then tier.entries = string.sub(tier.entries, at) end
    end,

    left = function(tier, now)
      if tier.entries == '' then return tier.limit, 0 end
      local youngest = newest(tier)
      local left = now - youngest < tier.gap and 0 or math.max(0, tier.limit - tier.sum)
      return left, youngest + tier.period - now
    end,

    write = function(tier)
      return limit_pack('<BI6I5I4', LOG, tier.period, tier.sum, #tier.entries) .. tier.entries
    end,

    seldom = function()
      return {
        read = function(packed, at)
          local sum, entries, past, was = kept(packed, at)
          return { sum = sum, entries = entries }, was, past
        end,

        refill = function(tier) return tier.period end,

        convert = function(tier, old)
          tier.sum, tier.entries = old.sum, old.entries
        end,

        fill = function(tier, now)
          tier.sum = math.min(math.max(tier.sum, tier.limit), 65535)
          tier.entries = limit_pack('<I7I2', now, tier.sum)
        end,

        shift = function(tier, by)
          local shifted = {}
          for at = 1, #tier.entries, ENTRY do
            local time, n = entry(tier.entries, at)
            shifted[#shifted + 1] = limit_pack('<I7I2', math.max(0, time + by), n)
          end
          tier.entries = table.concat(shifted)
        end,

        refund = function(tier, now, n, _, charged)
          if charged and now - charged >= tier.period then return end
          while n > 0 and tier.entries ~= '' do
            local time, last = newest(tier)
            local stays = math.max(0, last - n)
            tier.entries = string.sub(tier.entries, 1, -ENTRY - 1)
            if stays > 0 then tier.entries = tier.entries .. limit_pack('<I7I2', time, stays) end
            tier.sum, n = tier.sum - last + stays, n - last
          end
        end,
      }
    end,
  }
  limit_rules[LOG] = rule
  return rule
end
