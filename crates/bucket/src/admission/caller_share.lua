-- The share of a bucket's capacity that one caller may use, in jobs and in bytes.
-- needs: counts, eta
local held_before = {}

-- The jobs and bytes of a caller when the script began. If that is more than the bucket has, somebody deleted jobs by
-- hand, and the count is corrected.
local function read_held(holders, caller, level, bytes)
  if held_before[caller] then return held_before[caller] end
  local counted = redis.call('HMGET', holders, caller, bytes_of(caller))
  local jobs, all = tonumber(counted[1] or nil) or 0, tonumber(counted[2] or nil) or 0
  held_before[caller] = { jobs = jobs, bytes = all }
  count_held(caller, math.min(0, level - jobs), math.min(0, bytes - all))
  return held_before[caller]
end

-- The jobs and bytes of a caller, including those of this script, and their maxima; nil without a maximum ('0') or a
-- caller. `level` and `bytes`: of the bucket when the script began; `room` and `room_bytes`: free now. With 'free' a
-- caller may add a job while it has fewer jobs than are free, so its maximum is what it would reach without others.
local function holding_of(most, most_bytes, holders, caller, level, bytes, room, room_bytes)
  if most == '0' or not caller or caller == '' then return nil end
  local before = read_held(holders, caller, level, bytes)
  local more = held_more[caller]
  local holding = {
    held = before.jobs + more.jobs, most = tonumber(most), bytes = before.bytes + more.bytes,
    most_bytes = tonumber(most_bytes),
  }
  if most == 'free' then
    holding.free = math.max(0, room)
    holding.most = holding.held + math.max(0, math.ceil((holding.free - holding.held) / 2))
    holding.most_bytes = math.max(0, room_bytes)
  end
  return holding
end

-- Whether a job of `size` bytes would exceed the share. A caller without a job may have one of any size.
local function has_its_share(holding, size)
  if not holding or holding.held == 0 then return false end
  return holding.held >= holding.most or holding.bytes + size > holding.most_bytes
end

-- With 'free': how many jobs must leave until the caller has room for a job of `size` bytes.
local function jobs_to_leave(holding, size)
  local excess = math.max(0, holding.bytes + size - holding.most_bytes)
  local by_bytes = math.ceil(excess * holding.held / math.max(1, holding.bytes))
  return math.max(1, holding.held - holding.free + 1, by_bytes)
end

-- µs until a caller that has used its share may add a job of `size` bytes, if its own jobs are the last to leave. How
-- many of them may stay is estimated by their mean size.
local function wait_for_share(meter, pace, look, level, holding, size)
  if holding.free then
    return wait_for_room(meter, pace, look, level, math.min(level, jobs_to_leave(holding, size)))
  end
  local beside = math.floor((holding.most_bytes - size) * holding.held / math.max(1, holding.bytes))
  local stay = math.max(0, math.min(holding.most - 1, holding.held - 1, beside))
  return wait_for_room(meter, pace, look, level, math.max(1, level - stay))
end
