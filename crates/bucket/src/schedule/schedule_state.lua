-- What is known of a schedule beside its definition: a text of words in a hash, by the schedule's id. Its version, 1
-- while it is paused, the last tick that got a job, that job, how many ticks were missed, how many were left out
-- because the job of an earlier one was still there, and why the next one has no job yet. `-`: nothing.
-- needs: now
local function read_schedule(states, id)
  local text = redis.call('HGET', states, id)
  local version, paused, last, job, missed, overlapped, reason =
    string.match(text or '', '^(%S+) ([01]) (%S+) (%S+) (%d+) (%d+) (%S+)$')
  return version and {
    version = version, paused = paused, last = last, job = job,
    missed = tonumber(missed), overlapped = tonumber(overlapped), reason = reason,
  }
end

local function write_schedule(states, id, state)
  redis.call('HSET', states, id, table.concat({
    state.version, state.paused, state.last, state.job, whole(state.missed), whole(state.overlapped), state.reason,
  }, ' '))
end

-- Zset: id → its next tick, ms, of those that have one and aren't paused.
local function set_next(next_ticks, id, ms)
  if ms < 0 then
    redis.call('ZREM', next_ticks, id)
  else
    redis.call('ZADD', next_ticks, whole(ms), id)
  end
end

-- Whether `from` is the next tick of this very definition.
local function is_next(next_ticks, id, state, version, from)
  return state and state.version == version and tonumber(redis.call('ZSCORE', next_ticks, id) or nil) == from
end
