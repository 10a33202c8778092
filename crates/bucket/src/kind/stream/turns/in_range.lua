-- Stream kind: whether a waiting job is in a range, so that a take will find it.
-- needs: now, kind/flow_state, kind/flows, kind/ranges

-- The range of unsorted jobs; nil if all are sorted.
local unsorted_from, unsorted_to = read_range(redis.call('ZRANGE', RANGES, 1, 1, 'BYSCORE', 'LIMIT', 0, 1)[1] or '')

local function includes(from, to, id)
  local is_rest = string.sub(from, 1, 1) == '('
  local first, this = padded(is_rest and string.sub(from, 2) or from), padded(id)
  return (this > first or this == first and not is_rest) and this <= padded(to)
end

local function is_unsorted(id)
  return unsorted_from and includes(unsorted_from, unsorted_to, id)
end

local function has_flow(flow)
  if flow.is_there == nil then
    local is_next = redis.call('ZSCORE', FLOWS, flow.name)
    flow.is_there = (is_next or redis.call('ZSCORE', flow_state.throttled, flow.name)) and true or false
  end
  return flow.is_there
end

-- The number of ranges with a lower score.
local function count_below(score)
  local first = redis.call('ZRANGE', RANGES, whole(score), '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
  return first and redis.call('ZRANK', RANGES, first) or redis.call('ZCARD', RANGES)
end

local function range_at(rank)
  local text = redis.call('ZRANGE', RANGES, rank, rank)[1]
  local from, to, jobs = read_range(text)
  return { text = text, from = from, to = to, jobs = tonumber(jobs) }
end

-- The range of a job that isn't pending: { text, from, to, jobs }, or nil. Tries that of the job before, then all
-- rests, which come first, then searches the others, which are ordered by id.
local function range_with(id, flow)
  if not has_flow(flow) then return nil end
  if flow.looked_at and includes(flow.looked_at.from, flow.looked_at.to, id) then return flow.looked_at end
  local low, high = count_below(2 * flow.number + 1), count_below(2 * flow.number + 2) - 1
  while low <= high do
    flow.looked_at = range_at(low)
    if string.sub(flow.looked_at.from, 1, 1) ~= '(' then break end
    if includes(flow.looked_at.from, flow.looked_at.to, id) then return flow.looked_at end
    low = low + 1
  end
  while low <= high do
    local middle = math.floor((low + high + 1) / 2)
    flow.looked_at = range_at(middle)
    if includes(flow.looked_at.from, flow.looked_at.to, id) then return flow.looked_at end
    if padded(id) < flow.looked_at.from then high = middle - 1 else low = middle + 1 end
  end
  return nil
end

local function is_in_range(id, flow)
  return is_unsorted(id) or range_with(id, flow) ~= nil
end

-- The same for a job of PARKED_OWNER that isn't in `parked`.
local function waits_again(id, flow)
  return is_unsorted(id) or has_flow(flow) and redis.call('ZSCORE', RANGES, range_of(id, id, 1))
end
