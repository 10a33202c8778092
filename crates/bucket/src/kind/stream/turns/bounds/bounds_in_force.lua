-- Stream kind: the limits of callers, or groups, during a take. Only created if there are any (bounds.lua).
-- needs: constants, now, budget, kind/flow_state, kind/flows, kind/unthrottle, kind/bound_states, limits_of

-- `clock`: as in flow_state.lua; `pace_key`, `pace`: as for open_bounds.
local bounds = { states = states, clock = nil, pace_key = nil, pace = nil }

-- The time of the `noted` clock by now.
local function advanced(noted, asked)
  local elapsed = asked.elapsed
  -- As for the pace (limit_plan).
  if asked.since then
    elapsed = noted.wall < asked.since and 0 or math.max(0, elapsed - noted.wall + asked.since)
  end
  return noted.now + math.min(math.max(0, now_us - noted.wall), elapsed)
end

-- Starts without any state: calls in flight must be counted first.
local function begin_to_count(pace_key, pace)
  redis.call('DEL', flow_state.hash)
  redis.call('HSET', pace_key, 'flows', 'counting')
  pace.flows = 'counting'
end

-- `found`: { noted: the stored clock, nil if calls weren't counted, print: hash of its settings, has_text: whether a
-- clock was stored at all, is_state_lost: as for has_lost }.
local function open_bounds_in_force(asked, found)
  flow_state.is_in_force, flow_state.is_take = true, true
  local clock, lost
  if found.noted then
    clock, lost = math.floor(advanced(found.noted, asked)), found.noted.lost
  else
    clock, lost = now_us, (found.has_text or asked.pace.flows) and now_us or 0
    begin_to_count(asked.pace_key, asked.pace)
  end
  local print = string.sub(redis.sha1hex(asked.limits), 1, 8)
  -- With other settings, all throttled flows are checked again.
  if found.print ~= print then
    redis.call('ZUNIONSTORE', flow_state.throttled, 1, flow_state.throttled, 'WEIGHTS', 0)
  end
  redis.call('HSET', flow_state.hash, 'clock', table.concat({ whole(clock), whole(now_us), print, whole(lost) }, ' '))
  flow_state.has_lost = has_lost(found.is_state_lost)
  states.limits_of, states.undrained = open_limits(asked.limits), asked.undrained
  states.clock, states.lost = clock, lost
  bounds.clock, bounds.pace_key, bounds.pace = clock, asked.pace_key, asked.pace
  return bounds
end

-- Counts a job in flight. Returns whether it exists.
local function count_job(jobs, id)
  local found = redis.call('XRANGE', jobs, id, id)[1]
  if not found then return false end
  count_read(found[2])
  local flow = flow_of_entry(found[2])
  states.look({ flow })
  states.count(flow, id)
  return true
end

-- Counts the jobs in flight of one consumer, up to `most` and as many as a script may read. Returns their number, or
-- nil if there are more.
local function count_held(jobs, consumer, most)
  local PAGE, from, read = 500, '-', 0
  repeat
    local held, ids = redis.call('XPENDING', jobs, GROUP, from, '+', PAGE, consumer), {}
    for i, job in ipairs(held) do ids[i] = job[1] end
    local counted = #ids > 0 and redis.call('HMGET', flow_state.hash, unpack(ids)) or {}
    for i, id in ipairs(ids) do
      if not counted[i] then
        if read == most or not may_read() then return nil end
        if count_job(jobs, id) then read = read + 1 end
      end
    end
    from = #ids > 0 and '(' .. ids[#ids]
  until #held < PAGE
  return read
end

-- Counts jobs in flight that aren't counted yet. Returns whether all are: until then nothing is handed out.
-- `consumers`: { name, … }…
function bounds.count(jobs, consumers)
  if bounds.pace.flows == '1' then return true end
  local left = BATCH_JOBS
  for _, consumer in ipairs(consumers) do
    local counted = consumer[1] == PARKED_OWNER and 0 or left and count_held(jobs, consumer[1], left)
    left = counted and left - counted
  end
  states.write()
  if left then
    redis.call('HSET', bounds.pace_key, 'flows', 1)
    bounds.pace.flows = '1'
  end
  bytes_read, largest_read = 0, 0
  return left ~= nil
end

function bounds.unthrottle()
  local BACK_AT_ONCE = 64
  unthrottle(whole(bounds.clock), BACK_AT_ONCE)
end

-- Notes at the end of a take whether `flows` and `throttled` have members.
function bounds.note_there()
  local noted = redis.call('HMGET', flow_state.hash, 'there', 'came')
  local there = redis.call('EXISTS', FLOWS) .. redis.call('EXISTS', flow_state.throttled)
  if there ~= noted[1] then redis.call('HSET', flow_state.hash, 'there', there) end
  if noted[2] then redis.call('HDEL', flow_state.hash, 'came') end
end

-- µs until the next throttled flow may be called.
function bounds.next_us()
  local first = redis.call('ZRANGE', flow_state.throttled, 0, 0, 'WITHSCORES')
  return first[2] and math.max(0, first[2] - bounds.clock) or math.huge
end

return open_bounds_in_force
