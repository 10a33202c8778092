-- Admits a job with any options, limits or caller share. admit.lua admits plain jobs without this.
-- needs: batch, places_of_batch, job_options, repeated, mixed, caller_share, rules/check, rules/pass, kind/places
-- opens: open_ticks_of_batch = admit_ticks

local most_of_one, most_bytes_of_one = ARGV[6], ARGV[7]
local own_waits = own_waits_by(ARGV[15], HOLDERS)

-- Adds the share of the caller and the report of the limits to an answer. A caller that is refused for its share shows
-- the maximum as its number of jobs, as it may have reached the maximum bytes with fewer.
local function with_holding(answer, holding, verdict)
  answer[#answer + 1] = holding and (answer[1] == 'max_share' and holding.most or holding.held) or -1
  answer[#answer + 1] = holding and holding.most or -1
  if verdict then answer[#answer + 1] = limit_states(verdict) or limit_report(verdict) end
  return answer
end

-- µs until all limits and the share allow the job, at least `full`; nil if they never will.
local function wait_for_all(verdict, holding, full, size)
  local wait = full or 0
  if verdict and not verdict.allowed then
    if verdict.retry < 0 then return nil end
    wait = math.max(wait, verdict.retry)
  end
  if has_its_share(holding, size) then
    wait = math.max(wait, wait_for_share(METER, pace, look, level, holding, size))
  end
  return wait
end

-- `size`: bytes of the common fields; `first`, `extras`: as for read_options; `plan`: of its limits, or nil; `passes`:
-- whether its limits are known to allow it. Returns an answer, or, for an admitted job without a caller share, its id,
-- its eta in µs and the states of its limits, if any.
local function admit(size, first, extras, plan, passes)
  local options, last, more = read_options(first, extras)
  size = size + more
  local key = options['@once'] and KEYS[ONCE + options['@once']]
  local caller = CALLER and entry[CALLER] or options.caller or options['@caller'] or ''
  local repeated = key and repeated_by(key, caller, options)
  if repeated then return repeated end
  if size > capacity_bytes then return refuse('never_fits') end
  local full = room_in(size)
  local verdict = plan and not passes and limit_check(plan, { length = level, wait = wait_to_leave })
  local holding = most_of_one ~= '0' and holding_of(
    most_of_one, most_bytes_of_one, HOLDERS, caller, level_before, bytes_before, capacity - level,
    capacity_bytes - bytes
  ) or nil
  local denied = verdict and not verdict.allowed
  if denied then limit_charge(verdict) end
  -- If the share is a part of the free room and none is free, the reason is `bucket_full`.
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
  local deadline, excess = deadline_of(options, eta, due)
  if excess ~= nil then return refuse('deadline_unreachable', excess or nil) end
  if deadline then earliest = math.min(earliest or deadline, deadline) end
  end_entry(last, due, deadline)
  local id = append_job(size, caller, due, deadline)
  -- Also without fair queuing, which may be turned on later.
  note_mixed(PACE, pace, due, group, priority)
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

-- Writes the idempotency keys; called right after the jobs were appended.
local function write()
  if once then once.write() end
end

if ARGV[14] == '' then return admit, write end
return open_ticks_of_batch()(admit, write)
