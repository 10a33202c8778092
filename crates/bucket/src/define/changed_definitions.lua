-- Returns a page of the definitions that were changed since a version; of deleted ones only the names.
--
-- needs: changes_since
-- KEYS  1 definitions (hash)  2 changed (zset)  3 state (hash)
-- ARGV  1 the epoch that the caller knows ('': none)  2 the version that it knows (0: none)  3 maximum number to return
--       4 bytes after which the page ends  5 '1': the next page for a caller that reads all entries, or ''
--       then the latest changes that the caller knows: pairs of name and version
-- Result  that of changes_since
local latest = { unpack(ARGV, 6) }
return changes_since(
  KEYS[1], KEYS[2], KEYS[3], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1',
  latest
)
