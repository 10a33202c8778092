-- Decides whether a definition may be deleted: if it still is the one that its caller knows. It is marked then, and
-- a change of it ends its deletion first.
--
-- needs: at_maxmemory, registry_changes, definition_text
-- KEYS  1 definitions (hash)  2 changed (zset)  3 state (hash)
-- ARGV  1 bucket  2 the version that its caller knows  3 '1': mark it, '': only look
-- Result  'same' | 'changed': the version is another one | 'gone': it isn't there
local DEFINITIONS, CHANGED, STATE = KEYS[1], KEYS[2], KEYS[3]
local bucket, known, is_marked = ARGV[1], ARGV[2], ARGV[3] == '1'

local old = redis.call('HGET', DEFINITIONS, bucket)
if not old then return 'gone' end
if version_of(CHANGED, bucket, old) ~= known then return 'changed' end
if is_marked and not is_being_deleted(old) then
  local marked = mark_deletion(old)
  local text_bytes = (tonumber(redis.call('HGET', STATE, 'text_bytes') or nil) or 0) + #marked - #old
  redis.call('HSET', DEFINITIONS, bucket, marked)
  redis.call('HSET', STATE, 'text_bytes', digits(text_bytes))
end
return 'same'
