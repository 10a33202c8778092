-- Stream kind: returns throttled flows that may be called again to `flows`.
-- needs: now, kind/flow_state, kind/flows, kind/flow_times

local unthrottle, has_lost, end_bounds
do
  -- The number of the normal flow of its caller, as text, and its rank.
  local function owner_and_rank(flow)
    local number = (string.match(flow, '^%d+') or 1) - 1
    return whole(number % flow_state.numbers + 1), math.min(2, math.floor(number / flow_state.numbers))
  end

  -- The virtual time at which a flow returns: its old one, but not before that of a newcomer, so that it gains nothing
  -- by having been throttled. `first`: the first flows.
  local function time_of(state, rank, first)
    local begin = begin_of(rank, first)
    local at, before = string.match(state and state.out or '', ' ' .. rank .. ':([^: ]+):([^: ]+)')
    at, before = tonumber(at or begin), tonumber(before or begin)
    -- If the virtual times began again meanwhile, it keeps its distance from a newcomer.
    return begin < before and begin + (at - before) or math.max(at, begin)
  end

  -- `states`: by the numbers of the callers whose flows return.
  local function write_states(states)
    local words = {}
    for owner, state in pairs(states) do
      flow_state.back[owner] = true
      words[#words + 1], words[#words + 2] = owner, flow_state.text(state)
    end
    if #words > 0 then redis.call('HSET', flow_state.hash, unpack(words)) end
  end

  -- Returns up to `most` flows that may be called at `clock` to `flows`. The result is their number.
  function unthrottle(clock, most)
    local flows = redis.call('ZRANGE', flow_state.throttled, '-inf', clock, 'BYSCORE', 'LIMIT', 0, most)
    if #flows == 0 then return 0 end
    local first = redis.call('ZRANGE', FLOWS, 0, 1, 'WITHSCORES')
    local owners, ranks, states, words = {}, {}, {}, {}
    for i, flow in ipairs(flows) do owners[i], ranks[i] = owner_and_rank(flow) end
    for i, text in ipairs(redis.call('HMGET', flow_state.hash, unpack(owners))) do
      local owner, rank = owners[i], ranks[i]
      -- Several flows may be of one caller.
      states[owner] = states[owner] or flow_state.read(text)
      local state = states[owner]
      words[2 * i - 1], words[2 * i] = whole(time_of(state, rank, first)), flows[i]
      if state then state.out = flow_state.without(state.out, rank) end
    end
    write_states(states)
    add_flows(words, redis.call('ZCARD', FLOWS))
    redis.call('ZREM', flow_state.throttled, unpack(flows))
    return #flows
  end

  -- Whether `flows` or `throttled` had members at the end of the last take and is missing now, or the hash that says so
  -- is (`is_state_lost`): their flows would never be called again.
  function has_lost(is_state_lost)
    if is_state_lost then return true end
    local were_in_flows, were_throttled = flow_state.were_there()
    local keys = {}
    if were_in_flows then keys[1] = FLOWS end
    if were_throttled then keys[#keys + 1] = flow_state.throttled end
    return #keys > 0 and redis.call('EXISTS', unpack(keys)) < #keys
  end

  -- Called when no limits are set any more: all flows return, some in each take.
  function end_bounds(pace_key, is_state_lost)
    local BACK_AT_ONCE = 1000
    flow_state.has_lost = has_lost(is_state_lost)
    if unthrottle('+inf', BACK_AT_ONCE) == BACK_AT_ONCE then return end
    redis.call('DEL', flow_state.hash)
    redis.call('HDEL', pace_key, 'flows')
  end
end
