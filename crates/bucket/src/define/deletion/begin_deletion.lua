-- Decides whether a definition may be deleted: only if it still has the version that the caller knows. Then the
-- definition is marked, and can't be changed until the deletion is complete.
--
-- needs: at_maxmemory, registry_changes, definition_text
-- KEYS  1 definitions (hash)  2 changed (zset)  3 state (hash)
-- ARGV  1 bucket  2 the version that the caller knows  3 '1': mark the definition, '': only check the version
-- Result  'same' | 'changed': the definition has another version | 'gone': it doesn't exist
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
