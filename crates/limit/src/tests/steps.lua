-- Steps of a test, each at its own time, as if each were a script run.
--
-- needs: rules/check, rules/pass, rules/refund, rules/pace, rules/eta
-- ARGV  triples: µs of the clock, what to do, a plan
-- Result  a report per step
local reports = {}
local function room_of(text, how)
  local room, wait, refill = limit_room(text, how)
  return { room, wait, refill }
end

-- Whether the state of the only scope was written for the tiers that it is judged by now, by them alone, and not after
-- now.
local function is_known(verdict, text)
  local _, key = limit_unpack('<I7I4', text)
  local packed = limit_packed[key]
  if not packed then return false end
  local last, print = limit_unpack('<I7I4', packed)
  return print == verdict[1].print and last <= now_us and #packed == verdict[1].bytes
end

-- What passes, passes in both ways, with the same states. Taken ahead it is in one way alone.
local function decide(text, queue)
  local passes = limit_pass(text)
  local verdict = limit_check(text, queue)
  local may_be_simple = #verdict == 1 and is_known(verdict, text)
  limit_charge(verdict)
  local report, states = limit_report(verdict), limit_states(verdict)
  if passes ~= (states and may_be_simple or false) and #verdict == 1 then error('one way lets pass, one does not') end
  if passes and limit_charge_passed() ~= states then error('two ways, two states') end
  return report
end

local queue = { length = 0, wait = function(excess) return excess * 1000 end }
for i = 1, #ARGV, 3 do
  now_us = tonumber(ARGV[i])
  local what, text, report = ARGV[i + 1], ARGV[i + 2], {}
  if what == 'decide' then
    report = decide(text, queue)
  elseif what == 'refund' then
    limit_refund(text, 0)
  elseif what == 'release' then
    limit_release(text)
  elseif what == 'room' then
    report = room_of(text, {})
  elseif what == 'room_of_late' then
    report = room_of(text, { late = 200000, undrained = 200000 })
  elseif what == 'room_within_second' then
    report = room_of(text, { elapsed = 1000000 })
  elseif what == 'begin' then
    report = room_of(text, { begins = true })
    limit_spend(text, 0)
  elseif what == 'passing' then
    local look = limit_pace_state(text)
    for n = 1, 30 do report[n] = limit_pace_wait(look, n) end
  elseif what == 'spend' then
    limit_spend(text, 1)
  elseif what == 'spend_ahead' then
    local room = limit_room(text, { begins = true, late = 20000, ahead = 20000 })
    report = limit_spend(text, room)
    table.insert(report, 1, room)
  end
  limit_flush()
  limit_packed, limit_tiers, limit_by = {}, {}, {}
  for key in ipairs(KEYS) do
    -- The time of the test doesn't pass in Redis.
    local ttl = redis.call('PTTL', KEYS[key])
    if ttl == -1 then return redis.error_reply('a key without a time to live: ' .. KEYS[key]) end
    if ttl > 0 then redis.call('PEXPIRE', KEYS[key], ttl + 3600000) end
  end
  reports[#reports + 1] = report
end
return reports
