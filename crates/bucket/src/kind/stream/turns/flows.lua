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
-- needs: now, kind/entry, kind/flow_state

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
