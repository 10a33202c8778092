-- The state of an admission: the arguments that all jobs of the batch share, the bucket before and with these jobs, and
-- functions that append a job. The script returns here if the batch was answered before, or the settings have changed.
-- needs: counts, pace, eta, largest_job, kind/jobs

local keys = { jobs = KEYS[1], tally = KEYS[4] }
-- A local costs less than a global, which matters as it is read for each job.
local ARGV = ARGV
local PACE, METER, TALLY, CONTROL, HOLDERS, TOKEN = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local NOTICES = KEYS[10]

-- The first call checks this, too: it may arrive after the call that repeats it.
local answered = redis.call('GET', TOKEN)
if answered then return answered end

local version, is_repeated, plan_of_pace, plans_number = ARGV[1], ARGV[2] == '1', ARGV[5], ARGV[11]
local changed, is_paused = control_read(CONTROL, version)
if changed then return changed end
local capacity, capacity_bytes = tonumber(ARGV[3]), tonumber(ARGV[4])
local token_ttl = ARGV[10]
-- Indices in ARGV: of the number of fields, and of the digits that are the places of those with a value per job.
local NAMES = 18
local fields = tonumber(ARGV[NAMES])
local PLACES = NAMES + 2 * fields + 1
-- The names and values of the current job's entry, a table used for all jobs, and their number.
local entry, members = { nil, nil, nil, nil, nil, nil, nil, nil }, 2 * fields
-- The bytes that all entries share; the indices in `entry` of the values per job, and their number; the index of the
-- caller, nil unless all jobs have one.
local common_bytes, own, owned, CALLER = 0, { nil, nil, nil, nil }, #ARGV[PLACES], nil
for i = 1, fields do
  local value = ARGV[NAMES + fields + i]
  entry[2 * i - 1], entry[2 * i] = ARGV[NAMES + i], value
  common_bytes = common_bytes + #value
  if ARGV[NAMES + i] == 'caller' then CALLER = 2 * i end
end
for i = 1, owned do own[i] = 2 * (string.byte(ARGV[PLACES], i) - 48) end
-- The members of the entry of a job without extras.
local PLAIN = members

local pace = pace_read(PACE, is_paused)
local totals = redis.call('HMGET', TALLY, 'bytes', 'largest', 'delivered', 'dead', 'accepted', 'deadline')
-- Before the first call no state of the pace can have been lost (join.lua).
pace.new = pace.new or not (totals[3] or totals[4])
local look = pace_look(pace, plan_of_pace)
local level, pending = count_jobs(keys.jobs, true)
local was_idle = is_idle(level, pending)
local bytes, largest = tonumber(totals[1] or nil) or 0, read_largest(totals[2])
-- Somebody may have deleted jobs by hand.
if level == 0 then bytes = 0 end
local waiting, level_before, bytes_before = level - pending, level, bytes
local accepted, refused = 0, {}
-- A lower bound of the deadlines in the bucket (expire.lua), in ms; nil if no job has one.
local deadline_known = tonumber(totals[6] or nil)
local earliest = deadline_known
rates.look(METER, 'leak', 'accepted', 'refused', 'call')
-- If no job waits, a small batch takes no places in the fair queuing: a take sorts its jobs in if needed.
local FEW = 64
local is_few = waiting == 0 and tonumber(ARGV[13]) <= FEW
local has_more, has_limits = ARGV[PLACES + 1] == '1', ARGV[PLACES + 2] == '1'
-- The places of jobs in the fair queuing (places_of_batch.lua), once they are needed; and whether jobs without a caller
-- take places, nil until that was checked.
local places, nobodys_take

local function refuse(reason, retry_us)
  refused[reason] = (refused[reason] or 0) + 1
  return { reason, retry_us and math.ceil(retry_us / 1000) or -1, level }
end

-- The result of measured_leak, nil until it was called; and µs until the bucket is no longer throttled.
local leak_us, leak_jobs
local throttle_us = wait_for_throttle(pace)

-- Appends `entry`, of `size` bytes, and returns its id.
local function append_job(size, caller, due, expires)
  -- Reads `holders` before the first write: if that key has another type, the script must fail here.
  if accepted == 0 then
    if caller ~= '' and not held_more[caller] then
      find_held(HOLDERS, { caller })
    elseif has_more then
      redis.call('HLEN', HOLDERS)
    end
  end
  local id = append(keys, entry)
  if places then places.add(id, due, expires) end
  if level == 0 or largest.bytes and size > largest.bytes then note_largest(largest, level, size) end
  if was_idle then
    rates.restart(METER, 'leak')
    was_idle, leak_us = false, nil
  end
  level, waiting, bytes = level + 1, waiting + 1, bytes + size
  accepted = accepted + 1
  return id
end

-- µs until there is room for a job of `size` bytes; nil if there is room. Computed once for a full bucket.
local full_for
local function room_in(size)
  if level >= capacity then
    full_for = full_for or wait_for_room(METER, pace, look, level, level - capacity + 1)
    return full_for
  end
  local excess = bytes + size - capacity_bytes
  if excess <= 0 then return nil end
  return wait_for_bytes(METER, pace, look, level, bytes, excess)
end

-- How many jobs are called before the next one of this flow, which is to be added next.
local function count_before(group, caller, priority)
  if not places or caller == places.sole and not (group or priority) then return waiting end
  return places.ahead(group, caller, priority, waiting)
end

-- Writes the fields of a job into `entry`; its values begin at ARGV[first]. Returns their bytes.
local function write_fields(first)
  local size = common_bytes
  for i = 1, owned do
    local value = ARGV[first + i - 1]
    entry[own[i]] = value
    size = size + #value
  end
  return size
end
