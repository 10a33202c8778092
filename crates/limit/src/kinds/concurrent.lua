-- `concurrent`: the taken leases, sorted by their expiry. Each is packed as its expiry, its cost and its id.
if code == CONCURRENT then
  local LEASE = 16

  local function lease(leases, at)
    return limit_unpack('<I7I2I7', leases, at)
  end

  local function keep(tier, wanted, by)
    local kept = {}
    tier.sum = 0
    for at = 1, #tier.leases, LEASE do
      local expires, n, id = lease(tier.leases, at)
      if wanted(expires, id) then
        kept[#kept + 1] = limit_pack('<I7I2I7', math.max(0, expires + by), n, id)
        tier.sum = tier.sum + n
      end
    end
    tier.leases = table.concat(kept)
  end

  local function read(packed, at)
    local _, was, sum, bytes
    _, was, sum, bytes, at = limit_unpack('<BI6I5I4', packed, at)
    return { sum = sum, leases = string.sub(packed, at, at + bytes - 1) }, was, at + bytes
  end

  local rule
  rule = {
    tier = function(text, at)
      local limit, period
      limit, period, at = limit_unpack('<I7I6', text, at)
      return { rule = rule, limit = limit, period = period, sum = 0, leases = '', waits = 0 }, at
    end,

    load = function(tier, packed, from, _, now)
      tier.sum, tier.leases = 0, ''
      if not packed then return from end
      local state
      state, _, from = read(packed, from)
      tier.sum, tier.leases = state.sum, state.leases
      if tier.leases ~= '' and lease(tier.leases, 1) <= now then
        keep(tier, function(expires) return expires > now end, 0)
      end
      return from
    end,

    wait = function(tier, now, n)
      if n > tier.limit then return -1 end
      local wait, excess, at = 0, tier.sum + n - tier.limit, 1
      while excess > 0 do
        local expires, freed = lease(tier.leases, at)
        excess, at = excess - freed, at + LEASE
        wait = math.max(wait, expires - now)
      end
      return wait
    end,

    -- It may expire before leases that were taken while their maximum duration was longer.
    charge = function(tier, now, n, id)
      local expires, before = now + tier.period, #tier.leases
      while before > 0 and lease(tier.leases, before - LEASE + 1) > expires do before = before - LEASE end
      local taken = limit_pack('<I7I2I7', expires, n, id)
      tier.sum = tier.sum + n
      tier.leases = string.sub(tier.leases, 1, before) .. taken .. string.sub(tier.leases, before + 1)
    end,

    left = function(tier, now)
      local resets = tier.leases == '' and 0 or lease(tier.leases, #tier.leases - LEASE + 1) - now
      return math.max(0, tier.limit - tier.sum), resets
    end,

    write = function(tier)
      return limit_pack('<BI6I5I4', CONCURRENT, tier.period, tier.sum, #tier.leases) .. tier.leases
    end,

    seldom = function()
      return {
        read = read,
        refill = function(tier) return tier.period end,

        convert = function(tier, old)
          tier.sum, tier.leases = old.sum, old.leases
        end,

        -- If the clock was set, the number of leases doesn't change, and `shift` keeps their remaining time.
        fill = function() end,

        shift = function(tier, by)
          keep(tier, function() return true end, by)
        end,

        refund = function(tier, _, _, id)
          keep(tier, function(_, other) return other ~= id end, 0)
        end,
      }
    end,
  }
  limit_rules[CONCURRENT] = rule
  return rule
end
