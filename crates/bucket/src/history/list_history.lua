-- Returns fields of a bucket's history.
--
-- needs: now
-- KEYS  1 history (hash, as in sample.lua)
-- ARGV  1… fields
-- Result  { now in ms, the text of each field, '' if it doesn't exist… }
local texts = redis.call('HMGET', KEYS[1], unpack(ARGV))
for i = 1, #texts do texts[i] = texts[i] or '' end
return { whole(now_ms), unpack(texts) }
