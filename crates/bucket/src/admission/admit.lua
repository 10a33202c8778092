-- Admits a batch of jobs, each judged on its own: known idempotency key? limits? share of its caller? room by count and
-- bytes? deadline? Then it is appended, and charged to its limits. A refused one is charged to none.
--
-- needs: batch, now, counts, eta, notices, largest_job, rules/pass, kind/unread
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

-- What few calls need (admit_rare.lua), where it is needed.
local rare
local function opened_rare()
  rare = rare or open_rare()
  return rare
end

limit_know(ARGV[17])
local may_be_plain = ARGV[6] == '0' and ARGV[14] == '' and ARGV[15] == ''
local admit, write
-- For the same reason as in `put`.
if ARGV[16] ~= '0' then
  admit, write = opened_rare().open_admit()
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
        if ARGV[12] ~= '' then opened_rare().look_for_places(false) end
      elseif nobodys_take == nil then
        nobodys_take = nobodys_take_places(keys, HOLDERS, ARGV[12], found, pace, ARGV[15])
        if nobodys_take then opened_rare().look_for_places(false) end
      end
    end
    judged, eta, states = admit_plain(size, CALLER and entry[CALLER] or '', plan)
  else
    if not admit then
      admit, write = opened_rare().open_admit()
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
  redis.call('HSET', TALLY, 'accepted', whole((tonumber(counted[5] or nil) or 0) + accepted), 'bytes', whole(bytes))
  if earliest ~= deadline_known then redis.call('HSET', TALLY, 'deadline', whole(earliest)) end
  -- There is no job of an earlier version, which noted no deadlines (retention.lua).
  if not counted[5] and level == accepted then redis.call('HSET', TALLY, 'deadline_known', '1') end
  rates.count(METER, 'accepted', accepted)
  write_largest(TALLY, largest)
  -- While some wait, those who take jobs know of them.
  if found <= pending then publish_jobs(NOTICES) end
end
local packed = cmsgpack.pack(answers)
-- A refusal, too, is the answer to a first call that is still on its way. Where an ACL denies this, the jobs are there:
-- an error would bring them again.
if accepted > 0 or is_repeated then redis.pcall('SET', TOKEN, packed, 'PX', token_ttl) end
write_holders(HOLDERS)
limit_flush()
local denied = 0
for reason, count in pairs(refused) do
  count_up(TALLY, 'refused:' .. reason, count)
  denied = denied + count
end
if denied > 0 then rates.count(METER, 'refused', denied) end
rates.flush(METER)
return packed
