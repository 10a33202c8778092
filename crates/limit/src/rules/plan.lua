-- What a request asks of scopes, read from one text.
-- needs: rules/scope
local limit_nothing = {}

-- Without a bucket that went slower, the shortest window gets less.
local function limit_slow(scope)
  local shortest
  for i = 1, #scope do
    local tier = scope[i]
    if tier.full then return end
    if not shortest or tier.period < shortest.period then shortest = tier end
  end
  shortest.limit = math.max(1, math.floor(shortest.limit * limit_speed / 1000))
end

-- A plan: the scopes that one request is judged in, with all there is to know of their policies. Packed, little-endian:
--   id of its leases (7 bytes)  then per scope: 1 shadow, +2 lost is full, +4 goes at a speed (1)
--   place of its key in KEYS (4)  cost (7) share to take ahead, as 1/n of what is left; 0: none (2)
--   fingerprint of the tiers (4)  ms to keep their state, as text led by its length (1)  bytes of the tiers (2)
--   then per tier its kind (1) and the settings its rule reads
--
-- Read, it is a list of its scopes, each with what this request asks of it: n, share, shadow; and what comes of it:
-- whether it passed, and how many were taken. That is good until the next plan is read. `how` may say of scopes that
-- are read:
--   elapsed  the most µs that can have passed since its caller last asked, by a clock that nobody sets
--   asked    what the Redis clock was then, in µs; nil: unknown. What others have written since is that much later;
--            what was written before it, by a clock that was put back since, says nothing of what has passed
--   begins   what has no state was never there, so none was lost
--   speed    thousandths of their rate, for those that go at a speed
local function limit_plan(text, how)
  how = how or limit_nothing
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
      limit_speed = flags >= 4 and how.speed or 1000
      limit_load(scope, text, at, past, flags % 4 >= 2 and not how.begins, how)
      if limit_speed < 1000 then limit_slow(scope) end
      limit_scopes[key] = scope
    end
    scope.n, scope.share, scope.shadow, scope.passed, scope.taken = n, share, flags % 2 == 1, true, 0
    at, i = past, i + 1
    plan[i] = scope
  end
  return plan
end
