-- A batch of jobs as admit.lua is given it: what its ARGV say for all of them, the bucket as the script found it, and
-- how a job gets in. Here the script ends where the batch was answered before, or what is in force has changed.
-- needs: counts, pace, eta, largest_job, kind/jobs

local keys = { jobs = KEYS[1], tally = KEYS[4] }
-- It is read for each job, and a global costs more.
local ARGV = ARGV
local PACE, METER, TALLY, CONTROL, HOLDERS, TOKEN = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local NOTICES = KEYS[10]

-- The first call looks, too: it may come after the one that repeats it.
local answered = redis.call('GET', TOKEN)
if answered then return answered end

local version, is_repeated, plan_of_pace, planning = ARGV[1], ARGV[2] == '1', ARGV[5], ARGV[11]
local changed, is_paused = control_read(CONTROL, version)
if changed then return changed end
local capacity, capacity_bytes = tonumber(ARGV[3]), tonumber(ARGV[4])
local token_ttl = ARGV[10]
-- Where the number of the fields is, and where the digits of their places are.
local NAMES = 18
local fields = tonumber(ARGV[NAMES])
local PLACES = NAMES + 2 * fields + 1
-- The names and values of one entry after the other, and how many there are.
local entry, members = { nil, nil, nil, nil, nil, nil, nil, nil }, 2 * fields
-- The bytes that are the same in all; and where in an entry the values of each job stand. And that of its caller; nil:
-- not each has one.
local common_bytes, own, owned, CALLER = 0, { nil, nil, nil, nil }, #ARGV[PLACES], nil
for i = 1, fields do
  local value = ARGV[NAMES + fields + i]
  entry[2 * i - 1], entry[2 * i] = ARGV[NAMES + i], value
  common_bytes = common_bytes + #value
  if ARGV[NAMES + i] == 'caller' then CALLER = 2 * i end
end
for i = 1, owned do own[i] = 2 * (string.byte(ARGV[PLACES], i) - 48) end
-- A job that has only these fields is `plain`, whether it has limits or not.
local PLAIN = members

local pace = pace_read(PACE, is_paused)
local counted = redis.call('HMGET', TALLY, 'bytes', 'largest', 'delivered', 'dead', 'accepted', 'deadline')
-- Where no job was ever called no replica has joined yet, and nothing of a pace was lost (join.lua).
pace.new = pace.new or not (counted[3] or counted[4])
local look = pace_look(pace, plan_of_pace)
local level, pending = count_jobs(keys.jobs, true)
local was_idle = is_idle(level, pending)
local bytes, largest = tonumber(counted[1] or nil) or 0, read_largest(counted[2])
-- Somebody may have deleted jobs by hand.
if level == 0 then bytes = 0 end
local waiting, found, bytes_found = level - pending, level, bytes
local accepted, refused = 0, {}
-- No deadline of a job in the bucket is earlier (expire.lua), in ms; nil where none has one.
local deadline_known = tonumber(counted[6] or nil)
local earliest = deadline_known
rates.look(METER, 'leak', 'accepted', 'refused', 'call')
-- A small batch takes no places where nobody waits: a take sorts its jobs in if that matters.
local FEW = 64
local is_few = waiting == 0 and tonumber(ARGV[13]) <= FEW
local has_more, has_limits = ARGV[PLACES + 1] == '1', ARGV[PLACES + 2] == '1'
-- The places of those that wait (places_of_batch.lua), where they are needed; and whether jobs of nobody take places,
-- nil where that wasn't asked yet.
local places, nobodys_take

local function refuse(reason, retry_us)
  refused[reason] = (refused[reason] or 0) + 1
  return { reason, retry_us and math.ceil(retry_us / 1000) or -1, level }
end

-- As measured_leak says it, nil where that wasn't asked yet; and µs until the bucket is no longer throttled.
local passed, left
local throttled = wait_for_throttle(pace)

-- Appends the entry that was written last, of `size` bytes, for a caller. Its id.
local function put(size, caller, due, expires)
  -- What is of another type is found before anything is written. What is read of a caller is needed at the end.
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
    was_idle, passed = false, nil
  end
  level, waiting, bytes = level + 1, waiting + 1, bytes + size
  accepted = accepted + 1
  return id
end

-- µs until there is room for a job of `size` bytes; nil when there is. Of a full bucket it stays the same.
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

-- How many jobs are called before one of this flow; it is added next.
local function count_before(group, caller, priority)
  if not places or caller == places.sole and not (group or priority) then return waiting end
  return places.ahead(group, caller, priority, waiting)
end

-- Writes what a job, whose values are in ARGV from `first` on, has in each field. The bytes of these.
local function write_fields(first)
  local size = common_bytes
  for i = 1, owned do
    local value = ARGV[first + i - 1]
    entry[own[i]] = value
    size = size + #value
  end
  return size
end
