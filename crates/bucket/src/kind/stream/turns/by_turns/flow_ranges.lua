-- Stream kind: the ranges of each flow in a take by turns (by_turns.lua), one after the other.
-- needs: now, kind/flows, kind/ranges

local range_of_flow, end_range, keep_rest
do
  -- Numbers as text, which takes as long to write as a command.
  local texts = { [0] = '0' }

  -- Reads further ranges of a flow that may have `most` jobs; it is out of jobs where there are none. That isn't asked
  -- where all ranges are found already.
  local function read_ranges(turn, flow, most)
    flow.is_out = turn.found >= turn.ranges
    if flow.is_out then return end
    local first, last = whole(2 * flow.number), whole(2 * flow.number + 1)
    -- Mostly a few ranges have as many jobs.
    local seen, count = flow.seen, math.ceil(flow.seen == 0 and most / 4 or most)
    texts[seen], texts[count] = texts[seen] or whole(seen), texts[count] or whole(count)
    flow.ranges = redis.call('ZRANGE', RANGES, first, last, 'BYSCORE', 'LIMIT', texts[seen], texts[count])
    flow.seen, flow.next, turn.found = flow.seen + #flow.ranges, 1, turn.found + #flow.ranges
    flow.is_out = #flow.ranges == 0
  end

  -- { text, lone: the id of its only job, or else from, to, jobs, and is_rest where jobs of it were called }
  local function parse(text)
    local lone = lone_job(text)
    if lone then return { text = text, lone = lone } end
    -- What somebody else has put there has nothing in it.
    local from, to, jobs = read_range(text)
    return { text = text, from = from or '1-0', to = to or '0-0', jobs = tonumber(jobs or 0) }
  end

  -- The one that a flow is at, where it may have `most` jobs; nil behind the last.
  function range_of_flow(turn, flow, most)
    if flow.range then return flow.range end
    if flow.next > #flow.ranges then
      read_ranges(turn, flow, most)
      if flow.is_out then return nil end
    end
    flow.range = parse(flow.ranges[flow.next])
    flow.next = flow.next + 1
    return flow.range
  end

  -- All jobs of the range that a flow is at are chosen.
  function end_range(turn, flow)
    turn.gone[#turn.gone + 1] = flow.range.text
    flow.range = nil
  end

  -- `jobs` are chosen, of which `last` is the last one: the others wait.
  function keep_rest(range, last, jobs)
    range.from, range.jobs = '(' .. padded(last), math.max(1, range.jobs - jobs)
    range.is_rest = true
  end
end
