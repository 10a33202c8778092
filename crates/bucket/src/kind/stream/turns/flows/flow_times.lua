-- Stream kind: the virtual times of flows: the first flows, and where newcomers begin.
-- needs: kind/flow_state, kind/flows

local forget_called, forget_flows, first_flows, begin_of, add_flows
do
  function forget_called()
    redis.call('HDEL', flow_state.hash, 'came', 'sorted', 'called0', 'called1', 'called2')
  end

  -- The maximum of flows that one script removes.
  local FORGOTTEN_AT_ONCE = 1000

  -- Removes all flows, once no job is in a range.
  function forget_flows()
    local flows = redis.call('ZRANGE', FLOWS, 0, FORGOTTEN_AT_ONCE - 1)
    if #flows > 0 then redis.call('ZREM', FLOWS, unpack(flows)) end
    flow_state.note_none_there()
    forget_called()
  end

  -- Up to `most` flows from the first on: name, time, …. None if there is no range.
  function first_flows(most)
    local flows = redis.call('ZRANGE', FLOWS, 0, most - 1, 'WITHSCORES')
    if #flows == 0 or redis.call('ZCARD', RANGES) > 0 then return flows end
    forget_flows()
    if #flows < 2 * most then return {} end
    return redis.call('ZRANGE', FLOWS, 0, most - 1, 'WITHSCORES')
  end

  -- The virtual time of the first flow of this rank, or nil. `flows`: the first flows of all ranks.
  local function first_of(rank, flows)
    local origin, next_origin, from, to = bounds_of(rank)
    local first = tonumber(flows[1] == UNSORTED and flows[4] or flows[1] ~= UNSORTED and flows[2] or nil)
    if not first or first >= next_origin then return nil end
    if first >= origin then return first end
    return tonumber(redis.call('ZRANGE', FLOWS, from, to, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2] or nil)
  end

  -- The virtual time of a newcomer of this rank: that of the last call, or LEAD before (write_turn.lua), so it comes
  -- before flows that had a call since; but at most one call before the first flow, in case the noted call is an old
  -- one. Without flows: `otherwise`, or about the first time of the rank. (Start-time fair queueing: Goyal, Vin, Cheng,
  -- SIGCOMM 1996.)
  function begin_of(rank, flows, otherwise)
    local origin, first = bounds_of(rank), first_of(rank, flows)
    if not first then return otherwise or origin + LEAD end
    local called = tonumber(redis.call('HGET', flow_state.hash, 'called' .. rank) or nil) or first
    return math.max(origin, first - UNIT - LEAD, math.min(called, first))
  end

  -- Adds newcomers. Redis stores up to 128 members as a list, which it searches from the start: writing the times of a
  -- hundred flows costs more than all else of a take. Adding a long member converts the key to a table. `before`:
  -- number of existing flows; `words`: time, name….
  function add_flows(words, before)
    local MANY, LONG = 16, string.rep('-', 65)
    local become_many = before < MANY and before + #words / 2 >= MANY
    if become_many then words[#words + 1], words[#words + 2] = '0', LONG end
    redis.call('ZADD', FLOWS, 'NX', unpack(words))
    if become_many then redis.call('ZREM', FLOWS, LONG) end
  end
end
