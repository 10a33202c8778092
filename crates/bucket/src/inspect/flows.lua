-- Lists who waits, in the order of their turns. What nobody had to sort yet is sorted in first.
--
-- needs: at_maxmemory, constants, now, pace, kind/jobs, kind/flows, kind/sort_in
-- KEYS  1 jobs (stream)  2 tally (hash)  3 control (hash), then parked (zset), flows (zset), ranges (zset)
-- ARGV  1 version of what is in force (pace.lua)  2 the weights of callers that take turns (JSON; '': nobody does)
--       3 the most of those who wait
-- Result  { 'changed', … }
--         { how many flows there are, now in ms, { priority, jobs that wait, id of the oldest or '', … },
--           { { priority, 1 for a group, its name or the caller's, jobs that wait }, … } }
local keys = { jobs = KEYS[1], tally = KEYS[2] }
local CONTROL, version, weights, most = KEYS[3], ARGV[1], ARGV[2], tonumber(ARGV[3])
-- In one call: flows of a priority that are read, and ranges that are looked at for one flow and for those of a
-- priority.
local FLOWS_AT_ONCE, RANGES_OF_ONE, RANGES_OF_ALL = 1000, 1000, 4000
local changed = control_read(CONTROL, version)
if changed then return changed end

if weights ~= '' then
  local level, pending = count_jobs(keys.jobs)
  local _, found = sort_new(keys, first_flows(2), level - pending, 0, BATCH_BYTES)
  write_runs(found)
end

-- Where the oldest job is that was found so far: { from, to, the first id as it sorts }.
local function older(oldest, range)
  local from, to = read_range(range)
  if not from then return oldest end
  local is_rest = string.sub(from, 1, 1) == '('
  local first = is_rest and string.sub(from, 2) or from
  if oldest and oldest.first <= first then return oldest end
  return { from = from, to = to, first = first }
end

-- How many jobs of a flow wait, in how many ranges; and the oldest.
local function look_at(number, oldest)
  local first, last = whole(2 * number), whole(2 * number + 1)
  local ranges = redis.call('ZRANGE', RANGES, first, last, 'BYSCORE', 'LIMIT', 0, RANGES_OF_ONE)
  local waiting = 0
  for _, range in ipairs(ranges) do
    local _, _, jobs = read_range(range)
    waiting, oldest = waiting + tonumber(jobs or 0), older(oldest, range)
  end
  return waiting, #ranges, oldest
end

-- Somebody may have cancelled it.
local function id_of(oldest)
  local found = oldest and redis.call('XRANGE', keys.jobs, oldest.from, oldest.to, 'COUNT', 1)[1]
  return found and found[1] or ''
end

local priorities, shown = {}, {}
for _, priority in ipairs({ 'high', 'normal', 'low' }) do
  local _, _, from, to, _, of_groups = bounds_of(flow_of(nil, '', priority).rank)
  local looked_at, all, oldest = 0, 0, nil
  for _, flow in ipairs(redis.call('ZRANGE', FLOWS, from, to, 'BYSCORE', 'LIMIT', 0, FLOWS_AT_ONCE)) do
    if looked_at >= RANGES_OF_ALL then break end
    local number, name = string.match(flow, '^(%d+) (.*)$')
    number = tonumber(number)
    local waiting, ranges = 0, 0
    if number then waiting, ranges, oldest = look_at(number, oldest) end
    looked_at, all = looked_at + ranges, all + waiting
    if waiting > 0 and #shown < most then
      shown[#shown + 1] = { priority, number >= of_groups and 1 or 0, name, waiting }
    end
  end
  if all > 0 then
    local last = #priorities
    priorities[last + 1], priorities[last + 2], priorities[last + 3] = priority, all, id_of(oldest)
  end
end
return { redis.call('ZCARD', FLOWS), whole(now_ms), priorities, shown }
