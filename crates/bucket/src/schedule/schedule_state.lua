-- The state of a schedule: a text of words in a hash, by the schedule's id. The words are its version, 1 or 0 (paused
-- or not), the last tick that got a job, that job, how many ticks were missed, how many were skipped because the job of
-- an earlier tick was still in the bucket, and why the due tick has no job yet. `-`: none.
-- needs: now
local function parse_schedule(text)
  local version, paused, last, job, missed, overlapped, reason =
    string.match(text or '', '^(%S+) ([01]) (%S+) (%S+) (%d+) (%d+) (%S+)$')
  return version and {
    version = version, paused = paused, last = last, job = job, missed = missed, overlapped = overlapped,
    reason = reason,
  }
end

local function schedule_text(state)
  return state.version .. ' ' .. state.paused .. ' ' .. state.last .. ' ' .. state.job .. ' ' .. state.missed .. ' '
    .. state.overlapped .. ' ' .. state.reason
end

-- `counter`: `missed` or `overlapped`.
local function count_ticks(state, counter, ticks)
  if ticks > 0 then state[counter] = whole(state[counter] + ticks) end
end

local function read_schedule(states, id)
  return parse_schedule(redis.call('HGET', states, id))
end

local function write_schedule(states, id, state)
  redis.call('HSET', states, id, schedule_text(state))
end

-- `next_ticks` (zset: id → next tick in ms) has the schedules that have one and aren't paused.
local function set_next(next_ticks, id, ms)
  if ms < 0 then
    redis.call('ZREM', next_ticks, id)
  else
    redis.call('ZADD', next_ticks, whole(ms), id)
  end
end
