-- Returns to the windows of a pace what they were charged for calls that weren't made, in a plan with one scope. The time
-- of the state and the levels of buckets stay the same: time passes only for those who bound it (limit_room).
-- needs: rules/plan

-- Returns `n` calls. `granted`: the Redis clock when they were charged; `latest`: until when they might have begun, both
-- in µs; `print`: the fingerprint of the tiers then, packed. A window that had begun less than `margin` µs before, and
-- all others in doubt, get nothing. The result is whether any window got them.
local function limit_refund_windows(text, print, granted, latest, n, margin)
  local _, key, _, _, size, at = limit_unpack('<I7I4I7I2I2', text)
  local tiers, packed = limit_tiers_of(1, text, at, size, limit_nothing), redis.call('GET', KEYS[key])
  if not packed or string.sub(packed, 8, 11) ~= print or limit_pack('<I4', tiers.print) ~= print then return false end
  local last, from, is_refunded = limit_unpack('<I7', packed), 12, false
  -- A state from before the charge doesn't contain it: Redis has lost the later one.
  if granted > last then return false end
  for i = 1, #tiers do
    local tier = tiers[i]
    local rule = tier.rule
    local next = rule.load(tier, packed, from, last, last)
    local charged = rule.begins_at_latest and latest or granted
    if rule.is_window and tier.count > 0 and tier.starts > 0 and charged >= tier.starts + margin then
      tier.count = math.max(0, tier.count - n)
      packed, is_refunded = string.sub(packed, 1, from - 1) .. rule.write(tier) .. string.sub(packed, next), true
    end
    from = next
  end
  if is_refunded then redis.call('SETRANGE', KEYS[key], '0', packed) end
  return is_refunded
end
