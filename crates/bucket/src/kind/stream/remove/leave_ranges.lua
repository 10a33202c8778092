-- Stream kind: removes jobs from their ranges if they leave without a call. A take would remove empty ranges and flows,
-- too; but a paused bucket has no takes, and jobs may be submitted and cancelled there without end.
-- needs: kind/flows, kind/ranges, kind/flow_times, kind/in_range

local leave_range, write_ranges
do
  -- The maximum weight of a caller.
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

  -- Writes the range with its remaining jobs. Removes it only if no entry is left, as its count may be wrong.
  local function write_range(jobs, range, flow, left)
    local stay = range.jobs - left
    redis.call('ZREM', RANGES, range.text)
    if stay <= 0 and not redis.call('XRANGE', jobs, range.from, range.to, 'COUNT', 1)[1] then return end
    local text = range.from .. ' ' .. range.to .. ' ' .. math.max(1, stay)
    redis.call('ZADD', RANGES, whole(2 * flow.number + 1), text)
  end

  -- Removes a flow without waiting jobs if it had no call since it came, so it gains nothing by coming again. The last
  -- flow stays, so that the key doesn't seem to be deleted by hand.
  local function forget_newcomer(flow, first)
    local from, to = whole(2 * flow.number), whole(2 * flow.number + 1)
    if redis.call('ZCOUNT', RANGES, from, to) > 0 then return end
    local at = tonumber(redis.call('ZSCORE', FLOWS, flow.name) or nil)
    if not at or at >= begin_of(flow.rank, first) + UNIT / MOST_WEIGHT then return end
    if redis.call('ZCARD', FLOWS) > 1 then redis.call('ZREM', FLOWS, flow.name) end
  end

  -- To be called once, after all jobs have left.
  function write_ranges(jobs)
    if not next(flows) then return end
    for _, found in pairs(ranges) do write_range(jobs, found.range, found.flow, found.left) end
    local first = first_flows(2)
    for flow in pairs(#first > 0 and flows or {}) do forget_newcomer(flow, first) end
  end
end
