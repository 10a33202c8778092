-- A fast path for allowed requests of policies whose states are counts, as most are. Each state is read, charged and
-- written as one list of numbers, in a third of the time of limit_check and limit_charge.
-- needs: rules/plan

-- The last request that passed; per scope: its tiers, its key, its state after the charge, and whether the TTL of the
-- key is long enough.
local limit_passed, limit_passed_scopes = { nil, nil, nil, nil }, 0

-- The state of a key with `n` charged, and whether the TTL of the key is long enough. nil if `n` isn't allowed, or this
-- must be checked by limit_check.
local function limit_with(tiers, key, n)
  local packed, now = limit_stored(key, true), now_us
  if not packed or #packed ~= tiers.bytes then return nil end
  local state = { limit_unpack(tiers.format, packed) }
  local last, slice = state[1], tiers.slice
  if state[2] ~= tiers.head or last > now then return nil end
  local at = 3
  for i = 1, #tiers do
    local tier = tiers[i]
    at = tier.rule.pass(tier, state, at, last, now, n)
    if not at then return nil end
  end
  state[1] = now
  return state, last - last % slice == now - now % slice
end

-- Whether a request is allowed. If not, limit_check must decide. Charges nothing.
local function limit_pass(text)
  local at, i, id, key, n, share, size, tiers = 1, 0, nil, nil, nil, nil, nil, nil
  while at <= #text do
    id, key, n, share, size, at = limit_unpack('<I7I4I7I2I2', text, at)
    tiers, at = limit_tiers_of(i + 1, text, at, size, limit_nothing)
    if not tiers.are_counts or n == 0 or share > 0 then return false end
    local state, lives_on = limit_with(tiers, key, n)
    if not state then return false end
    local place = 4 * i
    limit_passed[place + 1], limit_passed[place + 2] = tiers, key
    limit_passed[place + 3], limit_passed[place + 4] = state, lives_on
    i = i + 1
  end
  limit_passed_scopes = i
  return true
end

-- Charges the last request that passed. Returns its states as limit_states does.
local function limit_charge_passed()
  local states
  for place = 0, 4 * limit_passed_scopes - 4, 4 do
    local tiers, key = limit_passed[place + 1], limit_passed[place + 2]
    local packed = limit_pack(tiers.format, unpack(limit_passed[place + 3]))
    limit_packed[key] = packed
    -- The state in memory of these tiers is outdated now.
    if limit_by[key] then limit_by[key] = nil end
    if not limit_passed[place + 4] then
      limit_ttl[key] = tiers.ttl
    elseif limit_ttl[key] == nil then
      limit_ttl[key] = false
    end
    states = states and states .. packed or packed
  end
  return states
end
