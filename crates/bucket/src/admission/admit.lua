-- Admits a batch of jobs. Checks for each job: known idempotency key, limits, share of its caller, room by number and
-- bytes, deadline. A job that passes is appended, and charged to its limits; a refused one isn't charged.
--
-- needs: batch, now, counts, eta, notices, largest_job, rules/pass, kind/unread
-- opens: open_rare = admit_rare
-- KEYS  1 jobs  2 pace (hash)  3 meter (hash)  4 tally (hash)  5 control (hash)
--       6 holders (hash)  7 token (string: the answer to this batch, for a caller that lost it)  8 keyed jobs (hash)
--       9 key ends (zset), both as in keep.lua  10 notices (zset)  11… once (string), one per idempotency key, then
--       those of schedules (ticks.lua), where a pace has its state (string), the scopes of limits (string), then a
--       stream's throttled (zset), flow-state (hash), parked (zset), flows (zset) and ranges (zset) | where a list's
--       takers are counted (hash)
-- ARGV  1 version of the settings (pace.lua)  2 '1' if this batch may have been admitted by an earlier call
--       3 capacity  4 capacity in bytes  5 plan of the pace ('': none)
--       6 maximum jobs of one caller (0: unlimited; free: while it has fewer than are free)  7 its maximum bytes
--       8 ms to keep idempotency keys after their jobs' end  9 maximum number of these keys  10 TTL of the token in ms
--       11 number of this set of plans, which the result repeats
--       12 weights of the fair queuing (JSON; '': none)  13 number of the jobs
--       14 the ticks that the jobs are for (ticks.lua; '': none)
--       15 rates of callers (limits_of.lua; '': none)
--       16 number of the idempotency keys in KEYS
--       17 policies to which plans refer by number (limit_load_policies)
--       18 number of the fields that all entries have, then their names, among them `caller` if all have one, then the
--         value of each field if it is the same in all entries; digits: the places of the fields that have a value per
--         job; '1' if some jobs have extra names and values; '1' if limits apply to some jobs; then for each job: the
--         number of its extras, if some jobs have any; the plan of its limits, if some jobs have limits; its values of
--         those fields; its extra names and values.
--         Extra names that begin with `@` are for this script, the others are fields of the entry. All are optional:
--         @once         index of its once key, and @fingerprint
--         @start        '+ms' from now | ms since the epoch
--         @expires      ms until then | '@ms' since the epoch, of a job that was accepted before and isn't refused for
--                       its eta
--         caller        in a list bucket: @caller
--         This script adds `due` and `expires`; `element` comes without its first brace
-- Result  { 'changed', … } | { 'judged', number of the set of plans, µs of the Redis clock, ms until there is room if
--         these jobs filled the bucket (otherwise -1), answer… } packed by cmsgpack, with one answer for each job:
--         id, level, eta in ms: not nested, for an admitted job without a caller share; followed by the states of its
--         limits if they are counts
--         { 'admitted', id, level, eta in ms, jobs of its caller, their maximum (-1: unlimited), report of its limits,
--         or their states, or nothing }
--         { 'repeated', id, level, eta in ms }
--         { 'bucket_full' | 'idempotency_keys_full' | 'never_fits' | 'deadline_unreachable' | 'idempotency_conflict',
--         retry after in ms (-1: never), level }
--         { 'caller_limit' | 'max_share', retry after in ms (-1: never), level, jobs of its caller, their maximum,
--         report or nothing }
--         { 'gone': the tick is over, or not due | 'overlapped' }

-- Admits a job without extras, as most are, with as few calls as possible. Returns the same as `admit`. `is_limited`:
-- whether limits apply to it, which allow it.
local function admit_plain(size, caller, is_limited)
  if level >= capacity or bytes + size > capacity_bytes then
    if size > capacity_bytes then return refuse('never_fits') end
    return refuse('bucket_full', room_in(size))
  end
  local ahead, eta = places and count_before(nil, caller, nil) or waiting, nil
  if look then
    eta = wait_for_turn(METER, pace, look, ahead)
  elseif ahead > 0 then
    if not leak_us then leak_us, leak_jobs = measured_leak(METER) end
    eta = ahead * leak_us / leak_jobs + throttle_us
  else
    eta = throttle_us
  end
  if members > PLAIN then
    for i = PLAIN + 1, members do entry[i] = nil end
    members = PLAIN
  end
  local id = append_job(size, caller)
  if caller ~= '' then count_held(caller, 1, size) end
  return id, eta, is_limited and limit_charge_passed() or nil
end

-- Functions that few calls need (admit_rare.lua), created when needed.
local rare
local function opened_rare()
  rare = rare or open_rare()
  return rare
end

limit_load_policies(ARGV[17])
local may_be_plain = ARGV[6] == '0' and ARGV[14] == '' and ARGV[15] == ''
local admit, write
-- Reads the idempotency keys before the first write, for the same reason as in `append_job`.
if ARGV[16] ~= '0' then
  admit, write = opened_rare().open_admit()
end
local answers, count, first = { 'judged', plans_number, now_us, -1 }, 4, PLACES + 3
for _ = 1, tonumber(ARGV[13]) do
  local extras, plan, answer, eta, states = 0, nil, nil, nil, nil
  if has_more then
    extras, first = tonumber(ARGV[first]), first + 1
  end
  if has_limits then
    plan, first = ARGV[first], first + 1
    if plan == '' then plan = nil end
  end
  local size = write_fields(first)
  first = first + owned
  -- With caller shares, `admit` checks limits and share together.
  local passes = plan and ARGV[6] == '0' and limit_pass(plan)
  if extras == 0 and may_be_plain and (not plan or passes) then
    -- A full bucket refuses the job, which then needs no place.
    if not (is_few or places or level >= capacity) then
      if CALLER then
        if ARGV[12] ~= '' then opened_rare().look_for_places(false) end
      elseif nobodys_take == nil then
        nobodys_take = nobodys_take_places(keys, HOLDERS, ARGV[12], level_before, pace, ARGV[15])
        if nobodys_take then opened_rare().look_for_places(false) end
      end
    end
    answer, eta, states = admit_plain(size, CALLER and entry[CALLER] or '', plan)
  else
    if not admit then
      admit, write = opened_rare().open_admit()
    end
    answer, eta, states = admit(size, first, extras, plan, passes)
    first = first + 2 * extras
  end
  answers[count + 1] = answer
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
  redis.call('HSET', TALLY, 'accepted', whole((tonumber(totals[5] or nil) or 0) + accepted), 'bytes', whole(bytes))
  if earliest ~= deadline_known then redis.call('HSET', TALLY, 'deadline', whole(earliest)) end
  -- The bucket is new, so it has no job of an earlier version, which didn't record deadlines (retention.lua).
  if not totals[5] and level == accepted then redis.call('HSET', TALLY, 'deadline_known', '1') end
  rates.count(METER, 'accepted', accepted)
  write_largest(TALLY, largest)
  -- Only if no job was waiting: otherwise the replicas know of jobs.
  if level_before <= pending then publish_jobs(NOTICES) end
end
local packed = cmsgpack.pack(answers)
-- A repeated call stores refusals, too, for the first call may still be on its way. `pcall`: if the ACL denies this, an
-- error would cause the jobs to be sent again, although they are stored.
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
