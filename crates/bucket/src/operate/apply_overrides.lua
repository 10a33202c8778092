-- Changes settings at run time, all of them or none. Also pauses and resumes the bucket.
--
-- needs: at_maxmemory, granted, is_deleted, counts
-- KEYS  1 jobs  2 control (hash)  3 meter (hash)
-- ARGV  1 the new version of the settings in force  2 incarnation ('': the bucket isn't created over the API)
--       3 the version that the caller knows ('*': any), then per setting: its name, and its value or '' for the
--       configured one; `paused`: '1' or ''
-- Result  { 'changed', fields of control after the change } | { 'other version' }: nothing was changed |
--         { 'gone' }: the bucket was deleted, or created again, or is suspended for its deletion
local CONTROL, METER, VERSION, incarnation, known = KEYS[2], KEYS[3], ARGV[1], ARGV[2], ARGV[3]
if is_deleted(CONTROL, incarnation) then return { 'gone' } end
-- The answer is that nothing was changed, so a suspended bucket isn't, either.
if incarnation ~= '' and redis.call('HEXISTS', CONTROL, 'closed') == 1 then return { 'gone' } end
if known ~= '*' and (redis.call('HGET', CONTROL, 'version') or '') ~= known then return { 'other version' } end
-- Raises the error for a key of another type before the first write.
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
-- A deleted bucket of this name has left a TTL of a day on control, after which these settings would be lost.
if incarnation == '' and redis.call('PERSIST', CONTROL) == 1 then
  redis.call('HDEL', CONTROL, 'incarnation', 'closed')
end
if #ARGV > 3 then redis.call('HSET', CONTROL, 'version', VERSION) end
return { 'changed', redis.call('HGETALL', CONTROL) }
