-- Returns whether the deletion of a definition is decided or complete.
--
-- needs: definition_text
-- KEYS  1 definitions (hash)
-- ARGV  1 bucket  2 its incarnation
-- Result  1 | 0
local text = redis.call('HGET', KEYS[1], ARGV[1])
if not text or definition_head(text) ~= ARGV[2] or is_being_deleted(text) then return 1 end
return 0
