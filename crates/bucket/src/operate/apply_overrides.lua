-- Changes settings at run time, all of them or none; and pauses and resumes.
--
-- needs: at_maxmemory, granted, is_deleted, counts
-- KEYS  1 jobs  2 control (hash)  3 meter (hash)
-- ARGV  1 the version of what is then in force  2 incarnation ('': it isn't created over the API)
--       3 the version that is changed ('*': any), then per setting: its name, and its value or '' to go back to the
--       configured one; `paused`: '1' or ''
-- Result  { 'changed', control as it is then } | { 'other version' }: nothing is changed | { 'gone' }: the bucket was
--         deleted, or created again
local CONTROL, METER, VERSION, incarnation, known = KEYS[2], KEYS[3], ARGV[1], ARGV[2], ARGV[3]
if is_deleted(CONTROL, incarnation) then return { 'gone' } end
if known ~= '*' and (redis.call('HGET', CONTROL, 'version') or '') ~= known then return { 'other version' } end
-- What is of another type is found before anything is written.
rates.look(METER, 'leak')
check_granted(CONTROL, 'HSET', 'HDEL', 'HGETALL', 'PERSIST')
for i = 4, #ARGV, 2 do
  if ARGV[i] == 'paused' and ARGV[i + 1] == '' then rates.restart(METER, 'leak') end
  if ARGV[i + 1] == '' then
    redis.call('HDEL', CONTROL, ARGV[i])
  else
    redis.call('HSET', CONTROL, ARGV[i], ARGV[i + 1])
  end
end
rates.flush(METER)
-- What was kept of a bucket of this name that was deleted ends after a day, and would take this with it.
if incarnation == '' and redis.call('PERSIST', CONTROL) == 1 then
  redis.call('HDEL', CONTROL, 'incarnation', 'closed')
end
if #ARGV > 3 then redis.call('HSET', CONTROL, 'version', VERSION) end
return { 'changed', redis.call('HGETALL', CONTROL) }
