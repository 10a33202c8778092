-- Lists who waits, in the order of their turns. What nobody had to sort yet is sorted in first.
--
-- needs: at_maxmemory, constants, now, pace, kind/jobs, kind/flows, kind/sort_in
-- KEYS  1 jobs (stream)  2 tally (hash)  3 control (hash), then parked (zset), flows (zset), ranges (zset)
-- ARGV  1 version of what is in force (pace.lua)  2 the weights of callers that take turns (JSON; '': nobody does)
--       3 the most of those who wait
-- Result  { 'changed', … } | { how many flows there are, caller, how many jobs of it wait, … }
local keys = { jobs = KEYS[1], tally = KEYS[2] }
local CONTROL, version, weights, most = KEYS[3], ARGV[1], ARGV[2], tonumber(ARGV[3])
-- In one call: flows that are read, and ranges that are looked at for one flow and for all.
local FLOWS_AT_ONCE, RANGES_OF_ONE, RANGES_OF_ALL = 1000, 1000, 10000
local changed = control_read(CONTROL, version)
if changed then return changed end

if weights ~= '' then
  local level, pending = count_jobs(keys.jobs)
  local _, found = sort_new(keys, first_flows(2), level - pending, 0, BATCH_BYTES)
  write_runs(found)
end

local looked_at = 0
local function count_waiting(number)
  local first, last = whole(2 * number), whole(2 * number + 1)
  local ranges = redis.call('ZRANGE', RANGES, first, last, 'BYSCORE', 'LIMIT', 0, RANGES_OF_ONE)
  looked_at = looked_at + #ranges
  local waiting = 0
  for _, range in ipairs(ranges) do
    local _, _, jobs = read_range(range)
    waiting = waiting + tonumber(jobs or 0)
  end
  return waiting
end

local answer = { redis.call('ZCARD', FLOWS) }
for _, flow in ipairs(redis.call('ZRANGE', FLOWS, 0, FLOWS_AT_ONCE - 1)) do
  if #answer > 2 * most or looked_at >= RANGES_OF_ALL then break end
  local number, caller = string.match(flow, '^(%d+) (.*)$')
  local waiting = number and flow ~= UNSORTED and count_waiting(tonumber(number)) or 0
  if waiting > 0 then
    answer[#answer + 1] = caller
    answer[#answer + 1] = waiting
  end
end
return answer
