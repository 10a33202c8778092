-- A scope: its tiers, with the state of all of them in one string, which has a time to live, always.
--   µs of the last write (7 bytes)  fingerprint of the tiers it was written for (4)
--   then per tier its kind (1), its period (6) and what the kind's rule keeps
-- In a script run it is read once, changed in memory, and written once, by limit_flush.
-- needs: now, rules/migrate
local limit_scopes = { nil, nil, nil, nil }

-- Fills a scope with the tiers of a plan, in the state that its key holds. `how` as for limit_plan.
local function limit_load(scope, text, at, past, lost_is_full, how)
  local packed, now, last, print, from, i = redis.call('GET', KEYS[scope.key]), now_us, now_us, nil, nil, 0
  if packed then last, print, from = limit_unpack('<I7I4', packed) end
  -- The most that can have passed since the last write, by a clock that nobody sets (nil: unknown).
  local elapsed = how.elapsed
  if elapsed and how.asked then elapsed = last < how.asked and 0 or math.max(0, elapsed - last + how.asked) end
  if (packed or lost_is_full) and (print ~= scope.print or last > now or elapsed and now - last > elapsed) then
    packed, last, now = limit_mend(scope, text, at, past, packed, lost_is_full, elapsed)
    from = 12
  end
  while at < past do
    local code = string.byte(text, at)
    i = i + 1
    scope[i], at, from = (limit_rules[code] or limit_kind(code)).tier(text, at + 1, packed, from, last, now)
  end
  scope.now = now
end

-- Writes what was changed. To be called once, last: scripts don't roll back.
local function limit_flush()
  for _, scope in pairs(limit_scopes) do
    if scope.changed then
      local packed = limit_pack('<I7I4', scope.now, scope.print)
      for i = 1, #scope do
        packed = packed .. scope[i].rule.write(scope[i])
      end
      redis.call('SET', KEYS[scope.key], packed, 'PX', scope.ttl)
      scope.changed = false
    end
  end
end
