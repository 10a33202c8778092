-- Handles a state of the pace that was rolled back: Redis was restarted with an older one, or a Redis replica that was
-- behind was promoted. Such a state looks valid, but would grant calls a second time. So each take returns the state
-- that it wrote, and each process presents the last one that it knows. If the server has changed since the last use,
-- nothing is granted for a while, in which the newest presented state replaces the stored one. The pace also has
--   server    run_id of the server on which it was last used; missing if INFO isn't available
--   settling  µs until which nothing is granted
-- needs: now, notices, rules/pace

-- Returns for how many µs nothing is granted, and the newest known state; or nil if the pace can be used. `known`: the
-- state that this process presents, or ''.
local function pace_settling(key, pace, plan, known, notices)
  -- In µs. Each process takes within this time: one that waits within a second; after an error within two, and another
  -- second to reconnect. A clock that is set forward ends it early.
  local SETTLING = 3000000

  local function server_id()
    -- Doesn't try INFO with each take unless the ACL allows it, because Redis logs denied commands.
    if not pace.server and redis.acl_check_cmd then
      local is_known, may = pcall(redis.acl_check_cmd, 'INFO', 'server')
      if not (is_known and may) then return nil end
    end
    local info = redis.pcall('INFO', 'server')
    local id = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
    if pace.server and not id then redis.pcall('HDEL', key, 'server', 'settling') end
    return id or nil
  end

  local server, before, settling = server_id(), pace.server, pace.settling
  pace.server = server
  if not server or server == before and not settling then return nil end
  if server ~= before then
    -- A new bucket has no server and no known state. With a known state, the field `server` was rolled back, too.
    if not before and known == '' then
      redis.pcall('HSET', key, 'server', server)
      return nil
    end
    settling = math.huge
    publish_jobs(notices)
  end
  local state = limit_present(plan, known)
  if settling <= now_us then
    redis.pcall('HDEL', key, 'settling')
    return nil
  end
  -- Not longer, even if the clock was set back.
  local ends = math.min(settling, now_us + SETTLING)
  if ends ~= settling then redis.pcall('HSET', key, 'server', server, 'settling', whole(ends)) end
  return ends - now_us, state
end
