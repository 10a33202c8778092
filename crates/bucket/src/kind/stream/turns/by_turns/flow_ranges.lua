-- Stream kind: iterates over the ranges of a flow (by_turns.lua).
-- needs: now, kind/flows, kind/ranges

local range_of_flow, end_range, keep_rest
do
  -- Cached texts of numbers: converting one takes as long as a command.
  local texts = { [0] = '0' }

  -- Reads further ranges of a flow that may get `most` jobs, unless all ranges of the bucket were read. Sets is_out if
  -- there are none.
  local function read_ranges(turn, flow, most)
    flow.is_out = turn.found >= turn.ranges
    if flow.is_out then return end
    local first, last = whole(2 * flow.number), whole(2 * flow.number + 1)
    -- At first fewer ranges than jobs, as a range usually has several; but two, so that a single one is known to be the
    -- last.
    local seen, count = flow.seen, math.ceil(flow.seen == 0 and math.max(2, most / 4) or most)
    texts[seen], texts[count] = texts[seen] or whole(seen), texts[count] or whole(count)
    flow.ranges = redis.call('ZRANGE', RANGES, first, last, 'BYSCORE', 'LIMIT', texts[seen], texts[count])
    flow.seen, flow.next, turn.found = flow.seen + #flow.ranges, 1, turn.found + #flow.ranges
    flow.is_last, flow.is_out = #flow.ranges < count, #flow.ranges == 0
  end

  -- { text, lone: the id of its only job }, or { text, from, to, jobs, is_rest: if some of its jobs were called }
  local function parse(text)
    local lone = lone_job(text)
    if lone then return { text = text, lone = lone } end
    -- A malformed range, written by hand, counts as empty.
    local from, to, jobs = read_range(text)
    return { text = text, from = from or '1-0', to = to or '0-0', jobs = tonumber(jobs or 0) }
  end

  -- The current range of a flow that may get `most` jobs; nil after the last.
  function range_of_flow(turn, flow, most)
    if flow.range then return flow.range end
    if flow.next > #flow.ranges then
      if not flow.is_out then read_ranges(turn, flow, most) end
      if flow.is_out then return nil end
    end
    flow.range = parse(flow.ranges[flow.next])
    flow.next = flow.next + 1
    return flow.range
  end

  -- Ends the current range of a flow, all of whose jobs are chosen.
  function end_range(turn, flow)
    turn.gone[#turn.gone + 1] = flow.range.text
    flow.range, flow.is_out = nil, flow.is_last and flow.next > #flow.ranges
  end

  -- Shortens a range, of which `jobs` jobs up to `last` are chosen.
  function keep_rest(range, last, jobs)
    range.from, range.jobs = '(' .. padded(last), math.max(1, range.jobs - jobs)
    range.is_rest = true
  end
end
