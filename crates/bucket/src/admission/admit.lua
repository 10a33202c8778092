-- Admits a batch of jobs, each judged on its own: known idempotency key? limits? share of its caller? room by count and
-- bytes? deadline? Then it is appended, and charged to its limits. A refused one is charged to none.
--
-- needs: now, counts, pace, eta, notices, largest_job, rules/pass, kind/jobs, kind/takes_places
-- opens: open_rare = admit_rare
-- KEYS  1 jobs  2 pace (hash)  3 meter (hash)  4 tally (hash)  5 control (hash)
--       6 holders (hash)  7 token (string: the answer to this batch, for a caller that lost it)  8 keyed jobs (hash)
--       9 key ends (zset), both as in keep.lua  10 notices (zset)  11… once (string), one per idempotency key, then
--       those of schedules (ticks.lua), where a pace has its state (string), the scopes of limits (string), then a
--       stream's throttled (zset), flow-state (hash), parked (zset), flows (zset) and ranges (zset) | where a list's
--       takers are counted (hash)
-- ARGV  1 version of what is in force (pace.lua)  2 '1' when this batch may have been admitted before
--       3 capacity  4 capacity in bytes  5 plan of the pace ('': none)
--       6 the most jobs of one caller (0: not bounded; free: as many as there is room)  7 the most bytes of one caller
--       8 ms to keep idempotency keys after their jobs' end  9 the most of them  10 ms to keep the token
--       11 number of the caller's set of plans, which the answer repeats
--       12 the weights of callers that take turns (JSON; '': nobody does)  13 number of the jobs
--       14 the ticks that the jobs are for (ticks.lua; '': none)
--       15 how fast each caller may be called (limits_of.lua; '': as its turn comes)
--       16 number of the idempotency keys in KEYS
--       17 policies that plans name by their numbers (limit_know)
--       18 number of the fields that each entry has, then their names, with `caller` where each has one, and the value
--         that each field has in all of them; the places of the fields that each job has a value for, as digits; '1'
--         where jobs have more than these; '1' where limits apply to some; then per job: how many names and values it
--         has besides, only where some have any; the plan of its limits, only where some have any; its values for those
--         fields, and what it has besides.
--         Names that begin with `@` are for this script, and missing where they say nothing; others are fields, too:
--         @once         index of its once key, and @fingerprint
--         @start        '+ms' from now | ms since the epoch
--         @expires      ms until then | '@ms' since the epoch, of a job that was accepted before and isn't refused for
--                       its eta
--         caller        of a list's: @caller
--         `due` and `expires` are written here; `element` comes without its first brace
-- Result  { 'changed', … } | { 'judged', by which planning, µs of the Redis clock, ms until there is room again where
--         these jobs filled the bucket (-1: they didn't), answer… } packed by cmsgpack, the answer to each job one of
--         id, level, eta in ms: three members, of one that was admitted and has neither limits nor a share;
--         where it has limits that are counts, their states are the fourth
--         { 'admitted', id, level, eta in ms, jobs of its caller, and the most (-1: not bounded), report of its limits,
--         their states, or nothing }
--         { 'repeated', id, level, eta in ms }
--         { 'bucket_full' | 'idempotency_keys_full' | 'never_fits' | 'deadline_unreachable' | 'idempotency_conflict',
--         retry after in ms (-1: never), level }
--         { 'caller_limit' | 'max_share', retry after in ms (-1: never), level, jobs of its caller, the most, report or
--         nothing }
--         { 'gone': the tick has had its turn, or hasn't come | 'overlapped' }
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
limit_know(ARGV[17])
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
local bytes, largest = tonumber(counted[1] or 0), read_largest(counted[2])
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
-- What few calls need (admit_rare.lua), and the places of those that wait, each where it is needed; and whether jobs of
-- nobody take places, nil where that wasn't asked yet.
local rare, places, nobodys_take

-- Of all jobs; nil where not each has one, or where they aren't at the same distance in ARGV.
local function callers_of_batch()
  if not CALLER or has_more then return nil end
  local callers, are_there, step = {}, {}, owned + (has_limits and 1 or 0)
  for i = 1, owned do
    if own[i] == CALLER then
      for at = PLACES + 2 + step - owned + i, #ARGV, step do
        local caller = ARGV[at]
        if not are_there[caller] then callers[#callers + 1], are_there[caller] = caller, true end
      end
      return callers
    end
  end
  return { entry[CALLER] }
end

-- `sole`: as in places.lua.
local function open_places(sole)
  rare = rare or open_rare()
  places = rare.open_places(keys, HOLDERS, ARGV[12], found, is_few, pace, ARGV[15], sole, callers_of_batch)
end

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

-- A plain job: most are, so what it doesn't need isn't called. What it returns is as for `admit`. `is_limited`: by
-- limits that let it pass.
local function admit_plain(size, caller, is_limited)
  if level >= capacity or bytes + size > capacity_bytes then
    if size > capacity_bytes then return refuse('never_fits') end
    return refuse('bucket_full', room_in(size))
  end
  local ahead, eta = places and count_before(nil, caller, nil) or waiting, nil
  if look then
    eta = wait_for_turn(METER, pace, look, ahead)
  elseif ahead > 0 then
    if not passed then passed, left = measured_leak(METER) end
    eta = ahead * passed / left + throttled
  else
    eta = throttled
  end
  if members > PLAIN then
    for i = PLAIN + 1, members do entry[i] = nil end
    members = PLAIN
  end
  local id = put(size, caller)
  if caller ~= '' then count_held(caller, 1, size) end
  return id, eta, is_limited and limit_charge_passed() or nil
end

-- For what a plain job doesn't need. Redis makes the functions of a script again in each call, and all that they use of
-- what stands around them. `found`, `bytes_found`: what was there when the script began.
local function open_admit(found, bytes_found, is_few)
  local HOLDERS, ONCE, once_keys = KEYS[6], 10, tonumber(ARGV[16])
  local most_of_one, most_bytes_of_one = ARGV[6], ARGV[7]
  -- What the names begin with that are for this script, and a start that is a delay.
  local FOR_SCRIPT, DELAY = string.byte('@+', 1, 2)
  rare = rare or open_rare()
  local takes_turns = rare.takes_turns(ARGV[12])
  local own_waits = ARGV[15] ~= '' and rare.own_waits_by(ARGV[15], HOLDERS)
  local has_its_share, limit_charge, limit_states = rare.has_its_share, rare.limit_charge, rare.limit_states

  -- As count_before. In a small batch where nobody waits a job without a priority takes no place.
  local function count_jobs_before(group, caller, priority)
    if takes_turns and not places and (priority or not is_few) then
      -- Where they take none, all that are there, or came before in this batch, are nobody's.
      open_places(nobodys_take == false and (found > 0 or accepted > 0) and '' or false)
    end
    return count_before(group, caller, priority)
  end

  -- An answer with what its caller has here, and the report of its limits. One that has its share of bytes has no room
  -- for a job.
  local function with_holding(answer, holding, verdict)
    answer[#answer + 1] = holding and (answer[1] == 'max_share' and holding.most or holding.held) or -1
    answer[#answer + 1] = holding and holding.most or -1
    if verdict then answer[#answer + 1] = limit_states(verdict) or rare.limit_report(verdict) end
    return answer
  end

  -- Ends the entry behind its place `last`: what is before that is there already (read_options).
  local function end_entry(last, due, expires)
    if due then
      entry[last + 1], entry[last + 2] = 'due', whole(due)
      last = last + 2
    end
    if expires then
      entry[last + 1], entry[last + 2] = 'expires', whole(expires)
      last = last + 2
    end
    for i = last + 1, members do entry[i] = nil end
    members = last
  end

  -- For limits on the backlog: µs until this many jobs have left.
  local function wait_to_leave(jobs)
    return wait_for_room(METER, pace, look, level, jobs)
  end

  local once = once_keys > 0
    and rare.open_once_keys(
      ONCE + 1, ONCE + once_keys, KEYS[8], KEYS[9], tonumber(ARGV[9]), tonumber(ARGV[8]), wait_to_leave
    )

  -- µs until all limits and the share let pass, at least `full`; nil: never.
  local function wait_for_all(verdict, holding, full, size)
    local wait = full or 0
    if verdict and not verdict.allowed then
      if verdict.retry < 0 then return nil end
      wait = math.max(wait, verdict.retry)
    end
    if has_its_share(holding, size) then
      wait = math.max(wait, rare.wait_for_share(METER, pace, look, level, holding, size))
    end
    return wait
  end

  local byte = string.byte

  -- What a job has besides the fields that each has, by name: `besides` names and values, in ARGV from `first` on.
  -- Those that are fields, too, are written into the entry: up to its place `last`. Their bytes come third.
  local function read_options(first, besides)
    -- With room for some from the start.
    local options, last, bytes = { ['@once'] = nil, ['@fingerprint'] = nil, headers = nil, caller = nil }, PLAIN, 0
    for i = first, first + 2 * besides - 1, 2 do
      local name, value = ARGV[i], ARGV[i + 1]
      options[name] = value
      if byte(name) ~= FOR_SCRIPT then
        entry[last + 1], entry[last + 2] = name, value
        last, bytes = last + 2, bytes + #value
      end
    end
    if last > members then members = last end
    return options, last, bytes
  end

  -- ms since the epoch, of a job that is accepted then; nil: at once.
  local function due_of(start, accepted_ms)
    local due = string.sub(start, 1, 1) == '+' and accepted_ms + tonumber(string.sub(start, 2)) or tonumber(start)
    return due > now_ms and due or nil
  end

  -- µs until the call of a job that was accepted before, 0 unless it is still to come. Which jobs are before it isn't
  -- known: as if it were the last of its flow.
  local function eta_of(id, caller, options)
    if not once.has(id) then return 0 end
    local is_in_flight, due = rare.look_at_pending(keys.jobs, id, waiting)
    if is_in_flight then return 0 end
    if due then return math.max(wait_for_turn(METER, pace, look, 0), (due - now_ms) * 1000) end
    -- Refused at maxmemory, where it would sort in what waits: then as if it were the last of all.
    local is_counted, ahead = pcall(count_jobs_before, options.group, caller, options.priority)
    local eta = wait_for_turn(METER, pace, look, math.max(0, (is_counted and ahead or waiting) - 1))
    due = options['@start'] and due_of(options['@start'], tonumber(string.match(id, '^%d+')))
    return due and math.max(eta, (due - now_ms) * 1000) or eta
  end

  -- The job that its idempotency key names, where that isn't forgotten; the answer then.
  local function repeated_by(name, caller, options)
    local id, other = once.named_by(name)
    if not id then return nil end
    if other ~= options['@fingerprint'] then return refuse('idempotency_conflict') end
    return { 'repeated', id, level, math.floor(eta_of(id, caller, options) / 1000) }
  end

  -- `size` of its fields that each has, `first` and `besides` as for read_options, `plan`: that of its limits, nil
  -- without any; `passes`: whether these are known to let it pass. An answer; or the id of a job that isn't one of its
  -- caller's share, its eta in µs and, where it is limited, the states of its limits.
  local function admit(size, first, besides, plan, passes)
    local options, last, more = read_options(first, besides)
    size = size + more
    local key = options['@once'] and KEYS[ONCE + options['@once']]
    local caller = CALLER and entry[CALLER] or options.caller or options['@caller'] or ''
    local repeated = key and repeated_by(key, caller, options)
    if repeated then return repeated end
    if size > capacity_bytes then return refuse('never_fits') end
    local full = room_in(size)
    local verdict = plan and not passes and rare.limit_check(plan, { length = level, wait = wait_to_leave })
    local holding = most_of_one ~= '0' and rare.holding_of(
      most_of_one, most_bytes_of_one, HOLDERS, caller, found, bytes_found, capacity - level, capacity_bytes - bytes
    ) or nil
    local denied = verdict and not verdict.allowed
    if denied then limit_charge(verdict) end
    -- Of what is free, nobody gets more where nothing is.
    local is_over = has_its_share(holding, size) and not (full and holding.free)
    if denied or is_over then
      local reason = denied and 'caller_limit' or 'max_share'
      return with_holding(refuse(reason, wait_for_all(verdict, holding, full, size)), holding, verdict)
    end
    if full then return refuse('bucket_full', full) end
    local keys_full = key and once.room_in(key)
    if keys_full then return refuse('idempotency_keys_full', keys_full) end
    local due = options['@start'] and due_of(options['@start'], now_ms) or nil
    local group, priority = options.group, options.priority
    local eta = wait_for_turn(METER, pace, look, count_jobs_before(group, caller, priority))
    if own_waits then eta = math.max(eta, own_waits.wait(group, caller, priority)) end
    if due then eta = math.max(eta, (due - now_ms) * 1000) end
    local lifetime = options['@expires']
    local deadline = lifetime and tonumber(string.match(lifetime, '^@(%d+)$'))
    if lifetime and not deadline then
      local excess = eta - lifetime * 1000
      if excess > 0 then
        -- No wait helps one that would end before its delay does; one with a time comes nearer to it.
        local is_always_late = due and byte(options['@start']) == DELAY and due - now_ms >= tonumber(lifetime)
        return refuse('deadline_unreachable', not is_always_late and excess or nil)
      end
      deadline = now_ms + lifetime
    end
    if deadline then earliest = math.min(earliest or deadline, deadline) end
    end_entry(last, due, deadline)
    local id = put(size, caller, due, deadline)
    -- Also where nobody takes turns: they may from now on.
    rare.note_mixed(PACE, pace, due, group, priority)
    if own_waits then own_waits.add(group, caller, priority) end
    if key then once.name(key, id, options['@fingerprint']) end
    if verdict then limit_charge(verdict) end
    count_held(caller, 1, size)
    if holding then holding.held = holding.held + 1 end
    if not holding then
      if not verdict then return id, eta, passes and limit_charge_passed() or nil end
      local states = limit_states(verdict)
      if states then return id, eta, states end
    end
    return with_holding({ 'admitted', id, level, math.floor(eta / 1000) }, holding, verdict)
  end

  -- What is to be written as soon as the jobs are there, so that none of them comes again.
  local function write(ticks)
    if once then once.write() end
    if ticks then ticks.write() end
  end

  if ARGV[14] == '' then return admit, write end
  -- Each job of a tick has a key.
  local ticks, job = rare.open_ticks(ARGV[14], once.has), 0
  local function admit_of_tick(size, first, besides, plan, passes)
    job = job + 1
    local gone = ticks.refuse(job)
    if gone then return gone end
    local judged, eta, states = admit(size, first, besides, plan, passes)
    if eta then
      ticks.done('admitted', judged)
    else
      ticks.done(judged[1], judged[2])
    end
    return judged, eta, states
  end
  return admit_of_tick, function() write(ticks) end
end

local may_be_plain = ARGV[6] == '0' and ARGV[14] == '' and ARGV[15] == ''
local admit, write
-- For the same reason as in `put`.
if ARGV[16] ~= '0' then
  admit, write = open_admit(found, bytes_found, is_few)
end
local answers, count, first = { 'judged', planning, now_us, -1 }, 4, PLACES + 3
for _ = 1, tonumber(ARGV[13]) do
  local besides, plan, judged, eta, states = 0, nil, nil, nil, nil
  if has_more then
    besides, first = tonumber(ARGV[first]), first + 1
  end
  if has_limits then
    plan, first = ARGV[first], first + 1
    if plan == '' then plan = nil end
  end
  local size = write_fields(first)
  first = first + owned
  -- With shares per caller, all is judged together.
  local passes = plan and ARGV[6] == '0' and limit_pass(plan)
  if besides == 0 and may_be_plain and (not plan or passes) then
    -- Where the bucket is full, there is nobody to wait behind.
    if not (is_few or places or level >= capacity) then
      if CALLER then
        if ARGV[12] ~= '' then open_places(false) end
      elseif nobodys_take == nil then
        nobodys_take = nobodys_take_places(keys, HOLDERS, ARGV[12], found, pace, ARGV[15])
        if nobodys_take then open_places(false) end
      end
    end
    judged, eta, states = admit_plain(size, CALLER and entry[CALLER] or '', plan)
  else
    if not admit then
      admit, write = open_admit(found, bytes_found, is_few)
    end
    judged, eta, states = admit(size, first, besides, plan, passes)
    first = first + 2 * besides
  end
  answers[count + 1] = judged
  count = count + 1
  if eta then
    local ms = eta / 1000
    answers[count + 1], answers[count + 2], answers[count + 3] = level, ms - ms % 1, states
    count = count + (states and 3 or 2)
  end
end
if accepted > 0 and level >= capacity then answers[4] = math.ceil(room_in(0) / 1000) end

if write then write() end
if places then places.close() end
if accepted > 0 then
  redis.call('HSET', TALLY, 'accepted', whole((counted[5] or 0) + accepted), 'bytes', whole(bytes))
  if earliest ~= deadline_known then redis.call('HSET', TALLY, 'deadline', whole(earliest)) end
  -- There is no job of an earlier version, which noted no deadlines (retention.lua).
  if not counted[5] and level == accepted then redis.call('HSET', TALLY, 'deadline_known', '1') end
  rates.count(METER, 'accepted', accepted)
  write_largest(TALLY, largest)
  -- While some wait, those who take jobs know of them.
  if found <= pending then publish_jobs(NOTICES) end
end
local packed = cmsgpack.pack(answers)
-- A refusal, too, is the answer to a first call that is still on its way.
if accepted > 0 or is_repeated then redis.call('SET', TOKEN, packed, 'PX', token_ttl) end
write_holders(HOLDERS)
limit_flush()
local denied = 0
for reason, count in pairs(refused) do
  redis.call('HINCRBY', TALLY, 'refused:' .. reason, count)
  denied = denied + count
end
if denied > 0 then rates.count(METER, 'refused', denied) end
rates.flush(METER)
return packed
