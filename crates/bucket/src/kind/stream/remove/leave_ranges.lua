-- Stream kind: what waited in a range and left without a call. A take removes the ranges and flows in which it finds
-- nothing; but nobody takes from a paused bucket, however many jobs are submitted there and cancelled.
-- needs: kind/flows, kind/ranges, kind/flow_times, kind/in_range

local leave_range, write_ranges
do
  -- The heaviest weight that a caller may have.
  local MOST_WEIGHT = 1000
  local has_ranges = redis.call('ZCARD', RANGES) > 0 and redis.call('ZCARD', FLOWS) >= 0
  -- Ranges from which jobs left, by their texts: { range, flow, how many }; and all flows of such jobs.
  local ranges, flows = {}, {}

  function leave_range(id, flow)
    if not has_ranges or is_unsorted(id) then return end
    flows[flow] = true
    local range = flow.looked_at
    if not (range and includes(range.from, range.to, id)) then
      if redis.call('ZREM', RANGES, range_of(id, id, 1)) == 1 then return end
      range = range_with(id, flow)
    end
    if not range then return end
    local found = ranges[range.text] or { range = range, flow = flow, left = 0 }
    found.left = found.left + 1
    ranges[range.text] = found
  end

  -- Never without a job that is there, however many were counted.
  local function write_range(jobs, range, flow, left)
    local stay = range.jobs - left
    redis.call('ZREM', RANGES, range.text)
    if stay <= 0 and not redis.call('XRANGE', jobs, range.from, range.to, 'COUNT', 1)[1] then return end
    local text = range.from .. ' ' .. range.to .. ' ' .. math.max(1, stay)
    redis.call('ZADD', RANGES, whole(2 * flow.number + 1), text)
  end

  -- A flow of which nothing waits is forgotten where it had no call since it came: it gains nothing by coming again.
  -- The last one stays, so that nobody takes the key for deleted.
  local function forget_newcomer(flow, first)
    local from, to = whole(2 * flow.number), whole(2 * flow.number + 1)
    if redis.call('ZCOUNT', RANGES, from, to) > 0 then return end
    local at = tonumber(redis.call('ZSCORE', FLOWS, flow.name) or nil)
    if not at or at >= begin_of(flow.rank, first) + UNIT / MOST_WEIGHT then return end
    if redis.call('ZCARD', FLOWS) > 1 then redis.call('ZREM', FLOWS, flow.name) end
  end

  -- To be called once, when all have left.
  function write_ranges(jobs)
    if not next(flows) then return end
    for _, found in pairs(ranges) do write_range(jobs, found.range, found.flow, found.left) end
    local first = first_flows(2)
    for flow in pairs(#first > 0 and flows or {}) do forget_newcomer(flow, first) end
  end
end
