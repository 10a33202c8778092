-- Lists dead letters that match, oldest first.
--
-- needs: now, budget, each_letter
-- KEYS  1 dead (stream)
-- ARGV  1 where to begin, as XRANGE writes it  2 the most letters  3 bytes that the page has already
--       4 '1': the ids of their jobs alone  5… the filter (each_letter.lua)
-- Result  { bytes read, the last letter that was looked at or '' at the end,
--           the letter's id and its fields | the job's id… }
local most, before, ids_alone = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
bytes_read = before

local found = {}
local last = each_letter(KEYS[1], ARGV[1], read_filter(5), function()
  return #found < most
end, function(letter)
  found[#found + 1] = ids_alone and (field(letter[2], 'job') or letter[1]) or letter
end)
return { bytes_read - before, last, unpack(found) }
