-- Stream kind: whose turn it is. What waits stands in the stream, and once somebody has to wait for others it is sorted
-- in by its flow, which is what one caller, or group, has waiting at one priority; in two keys:
--   flows   zset: flow `number name` → its virtual time. The first one is next. A flow leaves when its turn comes and
--           nothing of it waits: so it keeps its place while it is away, and gains nothing by coming and going. The
--           times of each priority lie apart, and the number of a flow says of which it is (bounds_of)
--   ranges  zset: `first last jobs` → twice the number of a flow, and 1: ids of a run of the stream that waits, all of
--           one flow. A job that waits again after an attempt is alone, and has no 1: it comes before the new ones. A
--           rest begins with `(`, by which XRANGE leaves an id out
-- The group's last-delivered id moves along (NOACK, SETID), else XREADGROUP would hand out again what was taken out of
-- order. So a job is pending, or in a range, or behind that id, from where it is sorted in when it matters.
-- What may not be called now stands in `throttled` (flow_state.lua), and not in `flows`.
-- needs: constants, now, kind/entry, kind/flow_state

local FLOWS, RANGES = KEYS[#KEYS - 1], KEYS[#KEYS]

-- What a call costs a flow of weight 1: a multiple of all weights up to 18. Times are whole numbers, as Redis reads and
-- writes these in a tenth of the time of others.
local UNIT = 490089600
-- The flow of jobs that nobody knows the flow of, because somebody deleted these keys. It comes before all others.
local UNSORTED = '0 '

local flow_of, bounds_of
do
  -- Priorities by their rank: 0 is normal. Every other name, and none, is normal, too.
  local RANKS = { high = 1, low = 2 }
  -- How far apart the times of two ranks begin, high ones before the normal: of whole numbers Redis takes those up to
  -- 2 ^ 52. And how many numbers there are for callers, and for groups, of one rank.
  local SPAN, NUMBERS = 2 ^ 51, flow_state.numbers / 2

  -- Of a rank: when its times begin and when those of the next one do; the same as Redis is asked for them; and the
  -- first numbers of its flows: of callers, and of groups. Ranks have theirs one behind the other.
  function bounds_of(rank)
    local origin = rank == 0 and 0 or rank == 1 and -SPAN or SPAN
    local first = 2 * rank * NUMBERS + 1
    return origin, origin + SPAN, whole(origin), '(' .. whole(origin + SPAN), first, first + NUMBERS
  end

  -- Of callers and of groups, of each rank.
  local flows = { [0] = {}, {}, {}, {}, {}, {} }

  -- Of a group, or else of a caller, '' or nil for jobs without one; and of a priority. `of`: whose; `jobs`: how many
  -- this script has found to wait; `was_there`: its time in `flows` when it was looked for, false where it had none. It
  -- has room for eight members.
  function flow_of(group, caller, priority)
    local rank, name = RANKS[priority] or 0, group or caller or ''
    local block = 2 * rank + (group and 1 or 0)
    local flow = flows[block][name]
    if not flow then
      local number = block * NUMBERS + tonumber(string.sub(redis.sha1hex(name), 1, 11), 16) + 1
      flow = { name = whole(number) .. ' ' .. name, number = number, of = name, rank = rank, jobs = 0, was_there = nil }
      flow.group, flow.priority = group, priority
      flows[block][name] = flow
    end
    return flow
  end
end

local function flow_of_entry(entry)
  local group = field(entry, 'group')
  return flow_of(group and cut_caller(group), caller_of(entry), field(entry, 'priority'))
end

-- By caller; one that isn't in it has 1. `text`: '' where nobody takes turns.
local function read_weights(text)
  return text ~= '' and text ~= '{}' and cjson.decode(text) or {}
end

-- Sorts as ids do, and XRANGE reads it as the same id.
local function padded(id)
  local MS, SEQ, DASH, sub = '0000000000000', '000000', 45, string.sub
  -- Today's have as many digits.
  if string.byte(id, 14) == DASH then return sub(id, 1, 14) .. sub(SEQ, #id - 13) .. sub(id, 15) end
  local dash = string.find(id, '-', 1, true) or 0
  local ms, seq = sub(id, 1, dash), sub(id, dash + 1)
  return sub(MS, #ms) .. ms .. sub(SEQ, #seq + 1) .. seq
end

-- What is to be written of one range: from where, to where, and how many jobs, as in `read_range`.
local function range_of(first, last, jobs)
  -- Lua takes long to write a number, and mostly it is one.
  return padded(first) .. ' ' .. last .. (jobs == 1 and ' 1' or ' ' .. jobs)
end

local function read_range(range)
  return string.match(range, '^(%S+) (%S+) (%d+)$')
end

-- The job of a range that has no other one, and isn't a rest; nil of another range. Most are of this kind where many
-- callers wait, and a pattern takes three times as long.
local function lone_job(range)
  -- Behind a padded id, before the number of the jobs.
  local FIRST, LAST, SPACE, sub = 22, -3, 32, string.sub
  if sub(range, LAST + 1) ~= ' 1' or string.byte(range, FIRST - 1) ~= SPACE then return nil end
  local id = sub(range, FIRST, LAST)
  return padded(id) == sub(range, 1, FIRST - 2) and id or nil
end

local end_run, note_again, note_new, forget_runs, forget_called, forget_flows, first_flows, write_runs
do
  -- What this script has found to wait: { first, last, jobs, flow, whether it waits again }…. And the last of them,
  -- where the next job may join it.
  local runs, open = {}, nil

  function forget_runs()
    runs, open = {}, nil
  end

  function end_run()
    open = nil
  end

  -- After an attempt, or a delay.
  function note_again(id, flow)
    flow.jobs = flow.jobs + 1
    runs[#runs + 1], open = { first = id, last = id, jobs = 1, flow = flow, again = true }, nil
  end

  -- One that nobody has: it waits, or its time has not come. `due` and `deadline` in ms, or nil.
  function note_new(jobs, id, flow, due, deadline)
    if due and due > now_ms and not (deadline and deadline <= now_ms) then
      redis.call('XCLAIM', jobs, GROUP, PARKED_OWNER, '0', id, 'RETRYCOUNT', '0', 'FORCE', 'JUSTID')
      redis.call('ZADD', KEYS[#KEYS - 2], whole(due), id)
      return end_run()
    end
    local noted, rank = flow_state.noted, flow.rank
    flow.jobs, noted[rank] = flow.jobs + 1, noted[rank] + 1
    if open and open.flow == flow then
      open.last, open.jobs = id, open.jobs + 1
    else
      open = { first = id, last = id, jobs = 1, flow = flow }
      runs[#runs + 1] = open
    end
  end

  function forget_called()
    redis.call('HDEL', flow_state.hash, 'came', 'sorted', 'called0', 'called1', 'called2')
  end

  -- How many flows that are all away one script forgets.
  local FORGOTTEN_AT_ONCE = 1000

  -- Where nothing is in any range: a flow that is away has kept nobody waiting.
  function forget_flows()
    local flows = redis.call('ZRANGE', FLOWS, 0, FORGOTTEN_AT_ONCE - 1)
    if #flows > 0 then redis.call('ZREM', FLOWS, unpack(flows)) end
    flow_state.note_none_there()
    forget_called()
  end

  -- Up to `most` flows from the first on: name, time, …. None where nothing is in any range.
  function first_flows(most)
    local flows = redis.call('ZRANGE', FLOWS, 0, most - 1, 'WITHSCORES')
    if #flows == 0 or redis.call('ZCARD', RANGES) > 0 then return flows end
    forget_flows()
    if #flows < 2 * most then return {} end
    return redis.call('ZRANGE', FLOWS, 0, most - 1, 'WITHSCORES')
  end

  -- The time of the first one of this rank that waits; nil: none does. `flows` as below.
  local function first_of(rank, flows)
    local origin, next_origin, from, to = bounds_of(rank)
    local first = tonumber(flows[1] == UNSORTED and flows[4] or flows[1] ~= UNSORTED and flows[2] or nil)
    if not first or first >= next_origin then return nil end
    if first >= origin then return first end
    return tonumber(redis.call('ZRANGE', FLOWS, from, to, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2] or nil)
  end

  -- When a newcomer of this rank begins: at the time of the call that was handed out last, so before those that have
  -- had theirs since. Never more than a call before the first one that waits, should what is noted be an old one; where
  -- none waits, at `otherwise`, or where the rank begins. (Start-time fair queueing: Goyal, Vin, Cheng, SIGCOMM 1996.)
  function flow_state.begin_of(rank, flows, otherwise)
    local origin, first = bounds_of(rank), first_of(rank, flows)
    if not first then return otherwise or origin end
    local called = tonumber(redis.call('HGET', flow_state.hash, 'called' .. rank) or nil) or first
    return math.max(origin, first - UNIT, math.min(called, first))
  end

  -- Of `names`, time, name, time …, those that aren't throttled.
  local function without_throttled(names)
    local flows, others = {}, {}
    for i = 2, #names, 2 do flows[i / 2] = names[i] end
    for i, at in ipairs(redis.call('ZMSCORE', flow_state.throttled, unpack(flows))) do
      if not at then others[#others + 1], others[#others + 2] = names[2 * i - 1], names[2 * i] end
    end
    return others
  end

  -- Redis keeps up to 128 members as a list, and looks for each from the first one on: to write the times of a hundred
  -- costs more than all else of a take. A long member makes it a table, until nobody is in it. `before`: how many were
  -- there; `words`: time, name….
  function flow_state.add_flows(words, before)
    local MANY, LONG = 16, string.rep('-', 65)
    local become_many = before < MANY and before + #words / 2 >= MANY
    if become_many then words[#words + 1], words[#words + 2] = '0', LONG end
    redis.call('ZADD', FLOWS, 'NX', unpack(words))
    if become_many then redis.call('ZREM', FLOWS, LONG) end
  end

  -- Newcomers begin in the order in which they came; others keep their times. `flows`: the first ones.
  function write_runs(flows)
    if #runs == 0 then return end
    local before, begin = redis.call('ZCARD', FLOWS), {}
    local ranges, names, is_named = {}, {}, {}
    for i, run in ipairs(runs) do
      local flow = run.flow
      ranges[2 * i - 1] = whole(2 * flow.number + (run.again and 0 or 1))
      ranges[2 * i] = range_of(run.first, run.last, run.jobs)
      if not (is_named[flow] or flow.was_there) then
        is_named[flow] = true
        local rank = flow.rank
        begin[rank] = begin[rank] or flow_state.begin_of(rank, flows)
        -- A newcomer is behind the one before it, by much less than a call.
        names[#names + 1] = whole(begin[rank] + before + #names / 2)
        names[#names + 1] = flow.name
      end
    end
    redis.call('ZADD', RANGES, unpack(ranges))
    if #names > 0 and flow_state.is_in_force then names = without_throttled(names) end
    if #names > 0 then
      flow_state.add_flows(names, before)
      if flow_state.is_in_force then flow_state.note_newcomers() end
    end
    forget_runs()
  end
end
