-- The share of the room that one caller may hold, in jobs and in bytes.
-- needs: counts, eta
local held_before = {}

-- What a caller had in the bucket when the script began. Nobody has more than there is: somebody deleted jobs by hand.
local function read_held(holders, caller, level, bytes)
  if held_before[caller] then return held_before[caller] end
  local counted = redis.call('HMGET', holders, caller, bytes_of(caller))
  local jobs, all = tonumber(counted[1] or nil) or 0, tonumber(counted[2] or nil) or 0
  held_before[caller] = { jobs = jobs, bytes = all }
  count_held(caller, math.min(0, level - jobs), math.min(0, bytes - all))
  return held_before[caller]
end

-- What a caller has, with the jobs of this script, and the most that it may have, of jobs and of bytes; nil where that
-- isn't bounded ('0'), or nobody's. `level` and `bytes` are what the script found in the bucket, `room` and
-- `room_bytes` what is free now. With 'free' it may have a job where it has fewer than are free: so the most is what it
-- would get to on its own.
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

-- Whether a job of `size` bytes would be more than its share. One without any may have one job, however large.
local function has_its_share(holding, size)
  if not holding or holding.held == 0 then return false end
  return holding.held >= holding.most or holding.bytes + size > holding.most_bytes
end

-- Of how many jobs that leave it gets the room that it lacks, where its share is what is free.
local function jobs_to_leave(holding, size)
  local excess = math.max(0, holding.bytes + size - holding.most_bytes)
  local by_bytes = math.ceil(excess * holding.held / math.max(1, holding.bytes))
  return math.max(1, holding.held - holding.free + 1, by_bytes)
end

-- µs until a caller that has its share may have a job of `size` bytes: its own jobs may be behind all others. How many
-- of them may stay is counted as if all had the mean size.
local function wait_for_share(meter, pace, look, level, holding, size)
  if holding.free then
    return wait_for_room(meter, pace, look, level, math.min(level, jobs_to_leave(holding, size)))
  end
  local beside = math.floor((holding.most_bytes - size) * holding.held / math.max(1, holding.bytes))
  local stay = math.max(0, math.min(holding.most - 1, holding.held - 1, beside))
  return wait_for_room(meter, pace, look, level, math.max(1, level - stay))
end
