-- A plan: the scopes that one request is judged in, with all there is to know of their policies. Packed, little-endian:
--   id of its leases (7 bytes)  then per scope: 1 shadow, +2 lost is full (1)  place of its key in KEYS (4)  cost (7)
--   share to take ahead, as 1/n of what is left; 0: none (2)  fingerprint of the tiers (4)  ms to keep their state, as text
--   led by its length (1)  bytes of the tiers (2)  then per tier its kind (1) and the settings its rule reads
--
-- Read, it is a list of its scopes, each with what this request asks of it: n, share, shadow; and what comes of it: whether it
-- passed, and how many were taken. That is good until the next plan is read. `how` may say of scopes that are read:
--   elapsed  the most µs that can have passed since the last write, by a clock that nobody sets
--   begins   what has no state was never there, so none was lost
local function limit_plan(text, how)
  local id, at = limit_unpack('<I7', text)
  local plan, i = { nil, nil, nil, nil, id = id, allowed = true, retry = 0 }, 0
  while at <= #text do
    local flags, key, n, share, print, ttl, size
    flags, key, n, share, print, ttl, size, at = limit_unpack('<BI4I7I2I4Bc0I2', text, at)
    local scope, past = limit_scopes[key], at + size
    if not scope or scope.print ~= print then
      if scope and scope.changed then limit_flush() end
      scope = {
        nil, nil, nil, nil,
        key = key, print = print, ttl = ttl, now = 0, changed = false,
        n = 0, share = 0, shadow = false, passed = true, taken = 0,
      }
      limit_load(scope, text, at, past, flags >= 2 and not (how and how.begins), how and how.elapsed)
      limit_scopes[key] = scope
    end
    scope.n, scope.share, scope.shadow, scope.passed, scope.taken = n, share, flags % 2 == 1, true, 0
    at, i = past, i + 1
    plan[i] = scope
  end
  return plan
end
