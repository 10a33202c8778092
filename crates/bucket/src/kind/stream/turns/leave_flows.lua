-- Stream kind: ends the concurrent calls of callers with limits.
-- needs: now, notices, kind/flow_state

-- Subtracts these jobs, which are no longer in flight, from the calls of their callers. Ignores jobs that weren't
-- counted.
local function leave_flows(jobs, notices)
  if #jobs == 0 then return end
  local found = redis.call('HMGET', flow_state.hash, 'clock', unpack(jobs))
  local clock = tonumber(string.match(found[1] or '', '^%d+') or 0)
  local gone, owners, left, numbers = {}, {}, {}, {}
  for i, job in ipairs(jobs) do
    local owner = found[i + 1]
    if owner then
      gone[#gone + 1] = job
      if not left[owner] then
        owners[#owners + 1] = owner
        numbers[#numbers + 1] = string.match(owner, '^%d+')
      end
      left[owner] = (left[owner] or 0) + 1
    end
  end
  if #gone == 0 then return end

  local written, woken = {}, {}
  local function wake(owner)
    local number, name = string.match(owner, '^(%d+)(.*)$')
    for rank = 0, 2 do
      woken[#woken + 1], woken[#woken + 2] = 0, whole(number + rank * flow_state.numbers) .. name
    end
  end
  for i, text in ipairs(redis.call('HMGET', flow_state.hash, unpack(numbers))) do
    local state = flow_state.read(text)
    if state then
      state.in_flight = math.max(0, state.in_flight - left[owners[i]])
      if state.waits then wake(owners[i]) end
      state.waits = false
      if flow_state.is_spare(state, clock) then
        gone[#gone + 1] = numbers[i]
      else
        written[#written + 1], written[#written + 2] = numbers[i], flow_state.text(state)
      end
    end
  end
  redis.call('HDEL', flow_state.hash, unpack(gone))
  if #written > 0 then redis.call('HSET', flow_state.hash, unpack(written)) end
  -- Announced, because the replica with a free slot may be another one.
  if #woken > 0 then
    redis.call('ZADD', flow_state.throttled, 'XX', unpack(woken))
    publish_jobs(notices)
  end
end
