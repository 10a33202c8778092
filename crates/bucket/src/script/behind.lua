-- Ranges of streams. Redis refuses one after the largest possible id, which somebody may have added by hand.
local BEHIND_ALL = '(18446744073709551615-18446744073709551615'

-- Up to `most` entries of a range.
local function entries_between(stream, from, to, most)
  if from == BEHIND_ALL then return {} end
  return redis.call('XRANGE', stream, from, to, 'COUNT', most)
end
