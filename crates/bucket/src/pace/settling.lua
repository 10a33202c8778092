-- A state of the pace that was rolled back: Redis was started again with an older one, or a replica of Redis that had
-- fallen behind was promoted. Such a state looks valid, and would grant again what was granted since. So each take
-- answers the state that it wrote, and each process presents the last one that it knows. Over a server that didn't
-- write the state, nothing is granted for a while: meanwhile the newest state that is presented replaces it. What no
-- living process knows stays as Redis has it. The pace has besides
--   server    run_id of the server on which it was last used; missing where INFO doesn't show it
--   settling  µs until which nothing is granted
-- needs: now, notices, rules/pace

-- How many µs the pace settles yet, and the newest state that is known of it; nil: it can be used. `known`: the state
-- that this process presents, or ''.
local function pace_settling(key, pace, plan, known, notices)
  -- In µs: within it each process asks. One that waits asks within a second, one that failed within two (where it lost
  -- its connection, after another one in which it gets that back). A clock that is put forward ends it early.
  local SETTLING = 3000000

  local function server_id()
    -- Redis logs what the ACL denies: where INFO isn't known to be allowed, it isn't tried with each take.
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
    -- A new bucket has no server yet; one whose state is known had one, which was rolled back too.
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
  -- Also after a clock that was put back, it lasts no longer.
  local ends = math.min(settling, now_us + SETTLING)
  if ends ~= settling then redis.pcall('HSET', key, 'server', server, 'settling', whole(ends)) end
  return ends - now_us, state
end
