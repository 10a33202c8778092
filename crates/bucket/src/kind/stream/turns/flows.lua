-- Stream kind: fair queuing. Entries stay where they are in the stream. Once jobs have to wait for those of others,
-- they are sorted into flows: a flow is what one caller, or group, has waiting at one priority. Two keys:
--   flows   zset: flow `number name` → its virtual time; the lowest is next. A flow is removed when its turn comes and
--           no job of it waits: it keeps its time until then, so it gains nothing by leaving and coming again. Times of
--           different priorities don't overlap, and a flow's number determines its priority (bounds_of)
--   ranges  zset: `first last jobs` → twice the number of a flow, plus 1: the ids of a run of waiting jobs, all of one
--           flow. A job that waits again after an attempt is a range without the plus 1, so it comes before new ones.
--           The rest of a range begins with `(`, by which XRANGE excludes the id
-- The group's last-delivered id is advanced (NOACK, SETID); otherwise XREADGROUP would deliver jobs that were taken out
-- of order again. So a job is pending, or in a range, or after that id; from there it is sorted in when needed. Flows
-- that may not be called now are in `throttled` (flow_state.lua), and not in `flows`.
-- needs: now, kind/entry, kind/flow_state

local FLOWS, RANGES = KEYS[#KEYS - 1], KEYS[#KEYS]

-- The virtual time of a call with weight 1: a multiple of all weights up to 18. Virtual times are integers, because
-- Redis reads and writes these ten times as fast as other numbers.
local UNIT = 490089600
-- How far a newcomer comes before a flow whose last call began at the same time (write_turn.lua).
local LEAD = UNIT / 1800
-- A flow that comes before all others, for jobs whose flows are unknown because somebody deleted these keys.
local UNSORTED = '0 '

local flow_of, bounds_of
do
  -- Ranks of priorities. Any other name, or none, has rank 0: normal.
  local RANKS = { high = 1, low = 2 }
  -- The span of virtual times of a rank, high ones before normal ones: Redis writes integers up to 2 ^ 52. And how many
  -- flow numbers the callers, and the groups, of one rank have.
  local SPAN, NUMBERS = 2 ^ 51, flow_state.numbers / 2

  -- For a rank: the first virtual time, and that of the next rank; the same as the bounds of ZRANGE; and the first flow
  -- numbers of callers, and of groups.
  function bounds_of(rank)
    local origin = rank == 0 and 0 or rank == 1 and -SPAN or SPAN
    local first = 2 * rank * NUMBERS + 1
    return origin, origin + SPAN, whole(origin), '(' .. whole(origin + SPAN), first, first + NUMBERS
  end

  -- The flows of callers and of groups, by rank.
  local flows = { [0] = {}, {}, {}, {}, {}, {} }

  -- The flow of a group, or else of a caller ('' or nil for jobs without one), at a priority. `of`: group or caller;
  -- `jobs`: how many waiting jobs this script has added; `was_there`: its time in `flows` when that was read, or false.
  -- Allocated with room for eight members.
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

-- Weights by caller, by default 1. `text`: '' without fair queuing.
local function read_weights(text)
  return text ~= '' and text ~= '{}' and cjson.decode(text) or {}
end
