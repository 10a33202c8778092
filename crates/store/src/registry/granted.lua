-- Raises an error where the user of Redis may not call one of these commands, which a script calls after its first
-- write: scripts don't roll back, and what an ACL denies in the middle would stay half done. Before Redis 7.0 nobody
-- can ask. Scripts that each job runs through don't: it would cost all of them more than it saves one.
local function check_granted(key, ...)
  if not redis.acl_check_cmd then return end
  local WITH = {
    HDEL = { 'field' }, HGET = { 'field' }, HGETALL = {}, HMGET = { 'field' }, HSET = { 'field', '1' }, PERSIST = {},
    XDEL = { '1-0' }, XADD = { '*', 'field', '1' }, ZADD = { '1', 'member' }, ZRANGE = { '0', '1' },
    ZREM = { 'member' }, ZSCORE = { 'member' },
  }
  for _, name in ipairs({ ... }) do
    if not redis.acl_check_cmd(name, key, unpack(WITH[name])) then
      -- As Redis says it.
      error({ err = "ERR The user executing the script can't run this command or subcommand: " .. name })
    end
  end
end
