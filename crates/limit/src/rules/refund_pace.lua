-- Refunds a pace what it was charged for calls that weren't made, in a plan with one scope. The time of the state stays
-- the same, as time passes only for those who bound it (limit_room). Why no limit is exceeded: charge.rs in the bucket
-- crate.
-- needs: rules/plan

-- Refunds `n` calls. `granted`: the Redis clock when they were charged; `latest`: until when they might have begun;
-- `elapsed`: since they were granted; all in µs. `print`: the fingerprint of the tiers then, packed. A window that had
-- begun less than `margin` µs before isn't refunded, nor what a bucket may have drained in `elapsed` and `undrained`.
-- Returns whether any tier was refunded.
local function limit_refund_pace(text, print, granted, latest, elapsed, n, margin, undrained)
  local _, key, _, _, size, at = limit_unpack('<I7I4I7I2I2', text)
  local tiers, packed = limit_tiers_of(1, text, at, size, limit_nothing), redis.call('GET', KEYS[key])
  if not packed or string.sub(packed, 8, 11) ~= print or limit_pack('<I4', tiers.print) ~= print then return false end
  local last, from, is_refunded = limit_unpack('<I7', packed), 12, false
  -- A state from before the charge doesn't contain it: Redis has lost the later one.
  if granted > last then return false end

  local function refund(tier)
    local before = tier.level or tier.count
    if tier.full then
      local refunded = n * tier.period - (elapsed + undrained) * tier.limit
      tier.level = math.max(0, tier.level - math.max(0, math.floor(refunded)))
    elseif tier.starts > 0 and (tier.rule.begins_at_latest and latest or granted) >= tier.starts + margin then
      tier.count = math.max(0, tier.count - n)
    end
    return (tier.level or tier.count) < before
  end

  for i = 1, #tiers do
    local tier = tiers[i]
    local next = tier.rule.load(tier, packed, from, last, last)
    if refund(tier) then
      packed, is_refunded = string.sub(packed, 1, from - 1) .. tier.rule.write(tier) .. string.sub(packed, next), true
    end
    from = next
  end
  if is_refunded then redis.call('SETRANGE', KEYS[key], '0', packed) end
  return is_refunded
end
