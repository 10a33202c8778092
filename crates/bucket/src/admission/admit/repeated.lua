-- Finds the job of a known idempotency key.
-- needs: batch, places_of_batch, job_options, once_keys, kind/pending_state

-- The idempotency keys follow this index in KEYS.
local ONCE, once_keys = 10, tonumber(ARGV[16])
local once = once_keys > 0
  and open_once_keys(
    ONCE + 1, ONCE + once_keys, KEYS[8], KEYS[9], tonumber(ARGV[9]), tonumber(ARGV[8]), wait_to_leave
  )

-- The eta in µs of a job that was accepted before; 0 if it was called. Its place in its flow isn't known: it counts as
-- the flow's last job.
local function eta_of(id, caller, options)
  if not once.has(id) then return 0 end
  local is_in_flight, due = pending_state(keys.jobs, id, waiting)
  if is_in_flight then return 0 end
  if due then return math.max(wait_for_turn(METER, pace, look, 0), (due - now_ms) * 1000) end
  -- This may insert waiting jobs into flows, which Redis refuses at maxmemory; the eta is then that of the last job.
  local is_counted, ahead = pcall(count_jobs_before, options.group, caller, options.priority)
  local eta = wait_for_turn(METER, pace, look, math.max(0, (is_counted and ahead or waiting) - 1))
  due = options['@start'] and due_of(options['@start'], tonumber(string.match(id, '^%d+')))
  return due and math.max(eta, (due - now_ms) * 1000) or eta
end

-- The answer to a job whose idempotency key exists; nil if it doesn't.
local function repeated_by(name, caller, options)
  local id, other = once.named_by(name)
  if not id then return nil end
  if other ~= options['@fingerprint'] then return refuse('idempotency_conflict') end
  return { 'repeated', id, level, math.floor(eta_of(id, caller, options) / 1000) }
end
