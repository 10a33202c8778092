-- Stream kind: the times of flows: which are first, and where newcomers begin. Where nothing waits, no flow is left.
-- needs: kind/flow_state, kind/flows

local forget_called, forget_flows, first_flows, begin_of, add_flows
do
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
  function begin_of(rank, flows, otherwise)
    local origin, first = bounds_of(rank), first_of(rank, flows)
    if not first then return otherwise or origin end
    local called = tonumber(redis.call('HGET', flow_state.hash, 'called' .. rank) or nil) or first
    return math.max(origin, first - UNIT, math.min(called, first))
  end

  -- Redis keeps up to 128 members as a list, and looks for each from the first one on: to write the times of a hundred
  -- costs more than all else of a take. A long member makes it a table, until nobody is in it. `before`: how many were
  -- there; `words`: time, name….
  function add_flows(words, before)
    local MANY, LONG = 16, string.rep('-', 65)
    local become_many = before < MANY and before + #words / 2 >= MANY
    if become_many then words[#words + 1], words[#words + 2] = '0', LONG end
    redis.call('ZADD', FLOWS, 'NX', unpack(words))
    if become_many then redis.call('ZREM', FLOWS, LONG) end
  end
end
