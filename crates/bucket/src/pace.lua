-- The pace at which jobs are called: a plan of limits, and a hash with
--   hold   ms until which an upstream asked to wait
--   new    '1' if there was no pace before, so that one that is set begins with nothing consumed. Without it, a missing
--          state of the pace was lost, and counts as used up
--   speed  thousandths of the rate that the last reduction left; missing: it wasn't reduced
--   cut    ms of the last reduction;  why: 'refusals' or 'timeouts';  grows: ms from which on the rate grows back
--   unsent  µs until which granted calls may still be made; only if that may be after the end of their window
--   server, settling  whether the state may have been rolled back (pace/settling.lua)
--   weights  a hash of the last weights; missing or empty: all were 1 (weights.lua)
--   flows  whether calls in flight are counted by caller (flow_state.lua); missing: there are no limits per caller
--   crowded  ms until which takes publish that they took the last job, for replicas that came too late (take.lua)
--   mixed  '1' while jobs with a delay, a group or a priority may be in the bucket: then the jobs of one caller may be
--          of several flows
--   suspects  while jobs with more than half of their deliveries may be in the bucket: the maximum deliveries, and the
--             ids of those that may be in flight (suspects.lua)
-- needs: now, pace_constants

-- A script gets the effective settings in ARGV, with the version of the run-time changes (hash `control`) that they
-- include. If `control` has another version, the script must return the changes, and is called again (redis_bucket.rs).
-- Returns the reply for that, or nil; and whether the bucket is paused.
local function control_read(key, version)
  local c = redis.call('HMGET', key, 'version', 'paused')
  if (c[1] or '') ~= version then return { 'changed', redis.call('HGETALL', key) } end
  return nil, c[2] == '1'
end

-- `is_paused`: from control_read, for wait_for_room. If the rate wasn't reduced, `cut`, `grows` and `why` are nil.
local function pace_read(key, is_paused)
  -- The ms in which a thousandth of the rate grows back: half of it in less than a minute.
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
    -- In the future if the clock was set back.
    if pace.cut > now_ms then pace.cut = 0 end
    local grown = math.floor(math.max(0, now_ms - pace.grows) / PACE_GROWTH)
    pace.speed = math.min(PACE_WHOLE, tonumber(s.speed) + grown)
  end
  return pace
end
