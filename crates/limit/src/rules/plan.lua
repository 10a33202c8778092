-- A plan: the scopes that one request is judged in, with all there is to know of their policies. Packed, little-endian:
--   id of its leases (7 bytes)  then per scope: 1 shadow, +2 lost is full (1)  place of its key in KEYS (4)  cost (7)
--   share to take ahead, as 1/n of what is left; 0: none (2)  fingerprint of the tiers (4)  ms to keep their state, as text
--   led by its length (1)  bytes of the tiers (2)  then per tier its kind (1) and the settings its rule reads
local function limit_make(text, at, size, key, print, ttl)
  local scope = {
    nil, nil, nil, nil,
    key = key, print = print, ttl = ttl, changed = false, now = now_us, ahead = 0,
  }
  local past, i = at + size, 0
  while at < past do
    i = i + 1
    scope[i], at = limit_rule(string.byte(text, at)).tier(text, at + 1)
  end
  return scope
end

-- What one request asks of each scope: a list of { scope, n, share, shadow, passed, taken }, and the id.
local function limit_plan(text, elapsed)
  local id, at = limit_unpack('<I7', text)
  local plan, i = { nil, nil, nil, nil, id = id, allowed = true, retry = 0 }, 0
  while at <= #text do
    local flags, key, n, share, print, ttl, size
    flags, key, n, share, print, ttl, size, at = limit_unpack('<BI4I7I2I4Bc0I2', text, at)
    local scope = limit_scopes[key]
    if not scope or scope.print ~= print then
      if scope and scope.changed then limit_save(scope) end
      scope = limit_make(text, at, size, key, print, ttl)
      limit_load(scope, flags >= 2, elapsed)
      limit_scopes[key] = scope
    end
    at, i = at + size, i + 1
    plan[i] = { scope = scope, n = n, share = share, shadow = flags % 2 == 1, passed = true, taken = 0 }
  end
  return plan
end
