-- Raises an error if the Redis user may not call one of these commands, which a script calls after its first write:
-- scripts don't roll back, so a denial in the middle would leave partial writes. Not possible before Redis 7.0. Scripts
-- that run for each job don't use it, because of its cost.
local function check_granted(key, ...)
  if not redis.acl_check_cmd then return end
  local WITH = {
    HDEL = { 'field' }, HGET = { 'field' }, HGETALL = {}, HMGET = { 'field' }, HSET = { 'field', '1' }, PERSIST = {},
    XDEL = { '1-0' }, XADD = { '*', 'field', '1' }, ZADD = { '1', 'member' }, ZRANGE = { '0', '1' },
    ZREM = { 'member' }, ZSCORE = { 'member' },
  }
  for _, name in ipairs({ ... }) do
    if not redis.acl_check_cmd(name, key, unpack(WITH[name])) then
      -- In the words of Redis.
      error({ err = "ERR The user executing the script can't run this command or subcommand: " .. name })
    end
  end
end
