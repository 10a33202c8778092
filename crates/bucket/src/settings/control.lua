-- What is in force is given to a script in its ARGV, with the version of the changes (hash `control`) that it takes
-- account of. Where that is another by now, the script does nothing and answers the changes, and is asked again
-- (effective_settings.rs).
--
-- The answer, when something was changed; whether the bucket is paused.
local function control_read(key, version)
  local c = redis.call('HMGET', key, 'version', 'paused')
  if (c[1] or '') ~= version then return { 'changed', redis.call('HGETALL', key) } end
  return nil, c[2] == '1'
end
