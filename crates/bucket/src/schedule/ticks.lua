-- Jobs of schedules. Each is for one tick, and is submitted only if that tick is the next one of its schedule and is
-- due by the Redis clock. The script that adds the job also advances the schedule to the next tick, so a tick gets one
-- job, whatever the number of calls for it.
-- needs: now, known_schedules

-- `text`: JSON of the places in KEYS of the states (hash) and the next ticks (zset), and of one array for each job: the
-- schedule's id, its version, its next tick, the tick that gets the job (text), the tick after that (text, -1: none),
-- how many ticks get no job, and whether the job of an earlier tick may still be in the bucket. `is_there`: returns
-- whether a job of a schedule is in the bucket.
local function open_ticks(text, is_there)
  local STATES, NEXT, given = unpack(cjson.decode(text))
  local ids = {}
  for i, words in ipairs(given) do ids[i] = words[1] end
  local schedules = open_schedules(ids, KEYS[STATES], KEYS[NEXT])
  local id, version, from, tick, next_tick, missed, may_overlap, state

  local function advance(to)
    count_ticks(state, 'missed', missed)
    schedules.advance(id, to)
  end

  return {
    -- Returns the answer if the tick gets no job, or nil if its job is to be judged like any submission.
    refuse = function(job)
      id, version, from, tick, next_tick, missed, may_overlap = unpack(given[job])
      state = schedules.due(id, version, from)
      if not state or tonumber(tick) > now_ms then return { 'gone' } end
      if may_overlap or not is_there(state.job) then return nil end
      count_ticks(state, 'overlapped', 1)
      advance(next_tick)
      return { 'overlapped' }
    end,
    -- Handles the result of the job that `refuse` was last called for: the first word of the answer, and its id if it
    -- is in the bucket. If it was refused for now, its tick stays due, and the ticks before it are counted as missed.
    done = function(word, job_id)
      if word == 'admitted' or word == 'repeated' then
        state.last, state.job, state.reason = tick, job_id, '-'
        advance(next_tick)
      elseif word == 'idempotency_conflict' then
        count_ticks(state, 'missed', 1)
        state.reason = '-'
        advance(next_tick)
      elseif missed > 0 then
        state.reason = word
        advance(tick)
      elseif state.reason ~= word then
        state.reason = word
        schedules.note(id)
      end
    end,
    write = schedules.write,
  }
end
