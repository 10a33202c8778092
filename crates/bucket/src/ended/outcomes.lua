-- Lists how jobs ended, in the order of their ends, up to the bytes that a script may read.
--
-- needs: budget, job_filter, order
-- KEYS  1 outcomes (hash)  2 ended (zset)
-- ARGV  1 the ms  2 and the job id after which to begin (order.lua)  3 the most outcomes  4 an ending, or '' for all
--       5 bytes read for the page before  6 ms since the admission at least, '' for all
--       7 the first ms of the admission, '' for all  8 the latest one  9 the latest ms of the end
-- Result  { bytes read, the ms and the job id after which to go on, '' at the end, { job id, record }… }
local OUTCOMES, ENDED = KEYS[1], KEYS[2]
local ms, id, most, ending = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local before, since_ms, newest_ms = tonumber(ARGV[5]), tonumber(ARGV[7]) or 0, newest_of(ARGV[6], ARGV[8])
local until_ms = tonumber(ARGV[9]) or math.huge
bytes_read = before
-- In one call, so that a rare ending doesn't keep Redis from others.
local LOOKED_AT = 500

local places = ended_after(ENDED, ms, id, LOOKED_AT)
local found, at_end = {}, #places < 2 * LOOKED_AT
for i = 1, #places, 2 do
  if #found >= most or not may_read() then
    at_end = false
    break
  end
  if tonumber(places[i + 1]) > until_ms then
    at_end = true
    break
  end
  id, ms = places[i], places[i + 1]
  local record = redis.call('HGET', OUTCOMES, id)
  if record then
    count_read(record)
    local accepted_ms = tonumber(string.match(id, '^%d+'))
    local is_between = accepted_ms >= since_ms and accepted_ms <= newest_ms
    if is_between and (ending == '' or ending_of(record) == ending) then found[#found + 1] = { id, record } end
  end
end
return { bytes_read - before, at_end and '' or ms, at_end and '' or id, unpack(found) }
