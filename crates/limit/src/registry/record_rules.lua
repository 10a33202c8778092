-- The audit log of rules.
-- needs: granted, append_to

-- Fails if `record_rules` would, so that no change is left without an entry.
local function check_audit(audit)
  check_granted(audit, 'XADD')
  redis.call('XLEN', audit)
end

-- Adds an entry for each detail, and drops the oldest ones beyond `most`. `key`: the id of the acting key, '' without.
local function record_rules(audit, service, most, key, action, ...)
  for _, detail in ipairs({ ... }) do
    append_to(audit, 'MAXLEN', most, '*', 'key', key, 'action', action, 'service', service, 'detail', detail)
  end
end
