-- The pace, at which jobs are called unless the bucket is paused: a plan of limits, and a hash with
--   hold   ms until which an upstream asked everyone to wait
--   new    '1' when there was no pace yet, so one that is set begins with nothing consumed. Where a pace has no state
--          and isn't new, its state was lost, and what was lost counts as used up: never as a burst to spend
--   speed  thousandths of the rate that the last cut left; missing: none was cut
--   cut    ms when it was cut;  why: 'refusals' or 'timeouts';  grows: ms from which on it grows back
--   unsent  µs until which calls that were granted may still be made; kept where that may be after the end of their
--          window
--   server, settling  whether the state may have been rolled back (pace/settling.lua)
--   weights  a print of those by which turns were last taken; missing, or empty: all were 1 (weights.lua)
--   flows  whether jobs in flight are counted by caller (flow_state.lua); missing: nobody is throttled alone
--   crowded  ms until which takes publish that they took the last job, for replicas that came too late (take.lua)
--   mixed  '1' while jobs with a delay, a group or a priority may be in the bucket: then those of one caller don't all
--          wait in one flow
--   suspects  while jobs may be parked or wait that died with their replicas more often than half of their deliveries:
--             the most deliveries, and the ids of those that may be in flight (suspects.lua)
-- needs: now, pace_constants

-- What is in force is given to a script in its ARGV, with the version of the changes (hash `control`) that it takes
-- account of. Where that is another by now, the script does nothing and answers the changes, and is asked again
-- (redis_bucket.rs). The answer, when something was changed; whether the bucket is paused.
local function control_read(key, version)
  local c = redis.call('HMGET', key, 'version', 'paused')
  if (c[1] or '') ~= version then return { 'changed', redis.call('HGETALL', key) } end
  return nil, c[2] == '1'
end

-- `is_paused`: as control_read says it, for wait_for_room. Most fields are missing in most buckets. Where no rate was
-- cut, `cut`, `grows` and `why` are nil.
local function pace_read(key, is_paused)
  -- In how many ms a thousandth grows back: half of the rate in less than a minute.
  local PACE_GROWTH = 100
  local s, found = {}, redis.call('HGETALL', key)
  for i = 1, #found, 2 do s[found[i]] = found[i + 1] end
  local pace = {
    hold = tonumber(s.hold) or 0, new = s.new == '1', speed = PACE_WHOLE, unsent = tonumber(s.unsent) or 0,
    server = s.server, settling = tonumber(s.settling), flows = s.flows, weights = s.weights or '',
    is_mixed = s.mixed == '1', crowded = tonumber(s.crowded), suspects = s.suspects, is_paused = is_paused,
  }
  if pace.unsent > now_us + PACE_LATEST then pace.unsent = 0 end
  if s.speed then
    pace.cut, pace.grows, pace.why = tonumber(s.cut) or 0, tonumber(s.grows) or 0, s.why
    -- A clock that was put back since knows nothing of when that was.
    if pace.cut > now_ms then pace.cut = 0 end
    local grown = math.floor(math.max(0, now_ms - pace.grows) / PACE_GROWTH)
    pace.speed = math.min(PACE_WHOLE, tonumber(s.speed) + grown)
  end
  return pace
end
