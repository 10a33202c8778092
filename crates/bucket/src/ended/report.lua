-- Counts how jobs ended, in the order of their ends, as many as a script may read. What upstreams answered stays in
-- Redis.
--
-- needs: now, budget, order
-- KEYS  1 outcomes (hash)  2 ended (zset)
-- ARGV  1 ms to look back from now ('': go on)  2 the ms  3 and the job id after which to go on (order.lua)
-- Result  { bytes read, now in ms, the ms and the job id after which to go on, '' at the end, attempts,
--           { ending, jobs, … }, { ms from admission to the end of each that was delivered, … } }
local OUTCOMES, ENDED = KEYS[1], KEYS[2]
local back_ms, ms, id = ARGV[1], ARGV[2], ARGV[3]
if back_ms ~= '' then ms, id = whole(math.max(0, now_ms - tonumber(back_ms))), '' end
-- In one call, so that a long window doesn't keep Redis from others.
local LOOKED_AT = 500

local places = ended_after(ENDED, ms, id, LOOKED_AT)
local attempts, counts, latencies, at_end = 0, {}, {}, #places < 2 * LOOKED_AT
for i = 1, #places, 2 do
  if not may_read() then
    at_end = false
    break
  end
  id, ms = places[i], places[i + 1]
  local record = redis.call('HGET', OUTCOMES, id) or ''
  count_read(record)
  local result, made = ending_of(record)
  if result then
    counts[result] = (counts[result] or 0) + 1
    attempts = attempts + made
    local settled = tonumber(string.match(record, '^(%d+) '))
    local accepted = tonumber(string.match(id, '^(%d+)'))
    if result == 'delivered' and settled and accepted then
      latencies[#latencies + 1] = whole(math.max(0, settled - accepted))
    end
  end
end

local ended = {}
for result, count in pairs(counts) do
  ended[#ended + 1] = result
  ended[#ended + 1] = count
end
return { bytes_read, whole(now_ms), at_end and '' or ms, at_end and '' or id, attempts, ended, latencies }
