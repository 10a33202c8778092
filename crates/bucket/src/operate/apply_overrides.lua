-- Changes settings at run time, all of them or none; and pauses and resumes.
--
-- needs: at_maxmemory
-- KEYS  1 control (hash)
-- ARGV  1 the version of what is then in force, then per setting: its name, and its value or '' to go back to the
--       configured one; `paused`: '1' or ''
-- Result  how many were given
local CONTROL, VERSION = KEYS[1], ARGV[1]
for i = 2, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', CONTROL, ARGV[i])
  else
    redis.call('HSET', CONTROL, ARGV[i], ARGV[i + 1])
  end
end
if #ARGV > 1 then redis.call('HSET', CONTROL, 'version', VERSION) end
return (#ARGV - 1) / 2
