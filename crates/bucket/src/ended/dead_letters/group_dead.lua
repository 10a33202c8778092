-- Counts dead letters that match, by their last status and reason, in a part of the stream.
--
-- needs: budget, each_letter
-- KEYS  1 dead (stream)
-- ARGV  1 where to begin, as XRANGE writes it  2… the filter (each_letter.lua)
-- Result  { bytes read, the last letter that was looked at or '' at the end,
--           { status or 'none', reason, letters, the first of them, the last }… }
local groups, known = {}, {}
local last = each_letter(KEYS[1], ARGV[1], read_filter(2), function()
  return true
end, function(letter)
  local status, reason = status_of(letter[2]), field(letter[2], 'reason') or ''
  local name = status .. ' ' .. reason
  local group = known[name]
  if not group then
    group = { status, reason, 0, letter[1], letter[1] }
    known[name], groups[#groups + 1] = group, group
  end
  group[3], group[5] = group[3] + 1, letter[1]
end)
return { bytes_read, last, unpack(groups) }
