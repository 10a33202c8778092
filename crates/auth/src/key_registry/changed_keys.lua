-- Returns the keys that were changed since a version, a page of them; deleted ones by their ids.
--
-- needs: changes_since
-- KEYS  1 keys (hash)  2 changed (zset)  3 state (hash)
-- ARGV  1 the epoch that its caller knows ('': none)  2 the version that it knows (0: none)  3 the most to return
--       4 bytes after which none more is returned; then pairs: the latest changes that it knows, by name and version
-- Result  that of changes_since
local latest = { unpack(ARGV, 5) }
return changes_since(
  KEYS[1], KEYS[2], KEYS[3], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), latest
)
