-- Stream kind: how fast callers, or groups, may be called, and how many calls of each may be under way. Flows that may
-- be called now are in `flows`, all others in `throttled`: so no take walks past those.
-- needs: constants, now, budget, kind/bound_states, kind/flow_state, kind/flows, limits_of

-- How many flows come back in one take; and how many do where no such setting is in force any more.
local open_bounds
do
  local BACK_AT_ONCE, BACK_AT_END = 64, 1000

  -- The first `most` of those that may be called again at `clock` are among the others again: where they were, but not
  -- before the first one, so that nobody gains by being throttled. How many these were.
  local function bring_back(clock, most)
    local due = redis.call('ZRANGE', flow_state.throttled, '-inf', clock, 'BYSCORE', 'LIMIT', 0, most)
    if #due == 0 then return 0 end
    local owners, words, first = {}, {}, redis.call('ZRANGE', FLOWS, 0, 1, 'WITHSCORES')
    local ranks = {}
    for i, flow in ipairs(due) do
      local number = (string.match(flow, '^%d+') or 1) - 1
      owners[i] = whole(number % flow_state.numbers + 1)
      ranks[i] = math.min(2, math.floor(number / flow_state.numbers))
    end
    local states, written = {}, {}
    for i, text in ipairs(redis.call('HMGET', flow_state.hash, unpack(owners))) do
      -- Several flows may be of one caller.
      states[owners[i]] = states[owners[i]] or flow_state.read(text)
      local rank, state = ranks[i], states[owners[i]]
      local begin = flow_state.begin_of(rank, first)
      local at, before = string.match(state and state.out or '', ' ' .. rank .. ':([^: ]+):([^: ]+)')
      at, before = tonumber(at or begin), tonumber(before or begin)
      -- Where the times began again meanwhile, it is as far behind a newcomer as it was.
      at = begin < before and begin + (at - before) or math.max(at, begin)
      words[2 * i - 1], words[2 * i] = whole(at), due[i]
      if state then state.out = flow_state.without(state.out, rank) end
    end
    for owner, state in pairs(states) do
      flow_state.back[owner] = true
      written[#written + 1], written[#written + 2] = owner, flow_state.text(state)
    end
    if #written > 0 then redis.call('HSET', flow_state.hash, unpack(written)) end
    flow_state.add_flows(words, redis.call('ZCARD', FLOWS))
    redis.call('ZREM', flow_state.throttled, unpack(due))
    return #due
  end

  -- Whether somebody deleted one of these keys, where they were there at the end of the last take, or the hash that
  -- says so (`is_state_lost`): those who were in it would be called no more.
  local function has_lost(is_state_lost)
    if is_state_lost then return true end
    local were_in_flows, were_throttled = flow_state.were_there()
    local keys = {}
    if were_in_flows then keys[1] = FLOWS end
    if were_throttled then keys[#keys + 1] = flow_state.throttled end
    return #keys > 0 and redis.call('EXISTS', unpack(keys)) < #keys
  end

  -- No such setting is in force: all flows come back, some in each take.
  local function end_bounds(pace_key, is_state_lost)
    flow_state.has_lost = has_lost(is_state_lost)
    if bring_back('+inf', BACK_AT_END) == BACK_AT_END then return end
    redis.call('DEL', flow_state.hash)
    redis.call('HDEL', pace_key, 'flows')
  end

  -- Jobs of one consumer that are in flight and weren't counted, up to `most` and as many as a script may read. How
  -- many these are; nil where there are more.
  local function count_held(states, jobs, consumer, most)
    local PAGE, from, read = 500, '-', 0
    repeat
      local held, ids = redis.call('XPENDING', jobs, GROUP, from, '+', PAGE, consumer), {}
      for i, job in ipairs(held) do ids[i] = job[1] end
      local counted = #ids > 0 and redis.call('HMGET', flow_state.hash, unpack(ids)) or {}
      for i, id in ipairs(ids) do
        if not counted[i] then
          if read == most or not may_read() then return nil end
          local found = redis.call('XRANGE', jobs, id, id)[1]
          if found then
            count_read(found[2])
            local flow = flow_of_entry(found[2])
            states.look({ flow })
            states.count(flow, id)
            read = read + 1
          end
        end
      end
      from = #ids > 0 and '(' .. ids[#ids]
    until #held < PAGE
    return read
  end

  -- For a take: { states, count, bring_back, note_there, next_us }; nil where nobody is throttled. `pace_key`, `pace`:
  -- as in pace.lua. `text`: what each may (limits_of.lua), '' for all. `elapsed`, `asked`, `undrained` in µs, as for
  -- the pace.
  function open_bounds(pace_key, pace, text, elapsed, asked, undrained)
    local is_counted = pace.flows == '1' or pace.flows == 'counting'
    local known = redis.call('HGET', flow_state.hash, 'clock')
    local clock, wall, was, lost = string.match(known or '', '^(%d+) (%d+) (%x+) (%d+)$')
    local is_state_lost = is_counted and not clock
    if text == '' then
      if is_counted then
        end_bounds(pace_key, is_state_lost)
      elseif pace.flows then
        redis.call('HDEL', pace_key, 'flows')
      end
      return nil
    end
    flow_state.is_in_force, flow_state.is_take = true, true
    local print = string.sub(redis.sha1hex(text), 1, 8)
    if clock and is_counted then
      -- As for the pace (limit_plan).
      if asked then elapsed = tonumber(wall) < asked and 0 or math.max(0, elapsed - wall + asked) end
      clock, lost = tonumber(clock) + math.min(math.max(0, now_us - wall), elapsed), tonumber(lost)
    else
      clock, lost = now_us, (known or pace.flows) and now_us or 0
      redis.call('DEL', flow_state.hash)
      redis.call('HSET', pace_key, 'flows', 'counting')
      pace.flows = 'counting'
    end
    -- What was throttled by other settings is looked at again.
    if was ~= print then
      redis.call('ZUNIONSTORE', flow_state.throttled, 1, flow_state.throttled, 'WEIGHTS', 0)
    end
    clock = math.floor(clock)
    redis.call('HSET', flow_state.hash, 'clock', table.concat({ whole(clock), whole(now_us), print, whole(lost) }, ' '))
    flow_state.has_lost = has_lost(is_state_lost)
    local states = flow_state.open_states(open_limits(text), clock, lost, undrained)
    local bounds = { states = states }

    -- Whether all jobs that were in flight before are counted: before that, nothing is handed out. `consumers`:
    -- { name, … }…
    function bounds.count(jobs, consumers)
      if pace.flows == '1' then return true end
      local left = BATCH_JOBS
      for _, consumer in ipairs(consumers) do
        local counted = consumer[1] == PARKED_OWNER and 0 or left and count_held(states, jobs, consumer[1], left)
        left = counted and left - counted
      end
      states.write()
      if left then
        redis.call('HSET', pace_key, 'flows', 1)
        pace.flows = '1'
      end
      bytes_read, largest_read = 0, 0
      return left ~= nil
    end

    function bounds.bring_back()
      bring_back(whole(clock), BACK_AT_ONCE)
    end

    -- At the end of a take.
    function bounds.note_there()
      local noted = redis.call('HMGET', flow_state.hash, 'there', 'came')
      local there = redis.call('EXISTS', FLOWS) .. redis.call('EXISTS', flow_state.throttled)
      if there ~= noted[1] then redis.call('HSET', flow_state.hash, 'there', there) end
      if noted[2] then redis.call('HDEL', flow_state.hash, 'came') end
    end

    -- µs until the next one may be called again.
    function bounds.next_us()
      local first = redis.call('ZRANGE', flow_state.throttled, 0, 0, 'WITHSCORES')
      return first[2] and math.max(0, first[2] - clock) or math.huge
    end

    return bounds
  end
end
