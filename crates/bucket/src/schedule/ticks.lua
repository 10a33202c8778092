-- Jobs of schedules: each is for one tick, and judged only as long as that tick is the next of its schedule and has
-- come, by the clock of Redis. The script that adds the job writes the tick after it. So a tick has one job, however
-- many call for it, and however often.
-- needs: now, schedule_state

-- `text`: JSON of the places of two keys in KEYS, the states (hash) and next ticks (zset); then for each job the
-- schedule's id, its version, the tick that is its next one, the one that gets the job, the one after it (-1: none),
-- how many get none, and whether the job of an earlier tick lets it pass. `keyed_jobs`: each job of a schedule in the
-- bucket is there.
local function open_ticks(text, keyed_jobs)
  local given, states = cjson.decode(text), {}
  local STATES, NEXT = KEYS[given[1][1]], KEYS[given[1][2]]

  local function named(job)
    local id, version, from, tick, next, missed, may_overlap = unpack(given[job + 1])
    return {
      id = id, version = version, from = from, tick = tick, next = next, missed = missed, may_overlap = may_overlap,
    }
  end

  local function advance(tick, state)
    state.missed = state.missed + tick.missed
    write_schedule(STATES, tick.id, state)
    set_next(NEXT, tick.id, tick.next)
  end

  return {
    -- Why the tick gets no job; nil: it is judged as any.
    refuse = function(job)
      local tick = named(job)
      local state = read_schedule(STATES, tick.id)
      if not is_next(NEXT, tick.id, state, tick.version, tick.from) or tick.tick > now_ms then return { 'gone' } end
      if not tick.may_overlap and redis.call('HEXISTS', keyed_jobs, state.job) == 1 then
        state.overlapped = state.overlapped + 1
        advance(tick, state)
        return { 'overlapped' }
      end
      states[job] = state
      return nil
    end,
    -- What became of the job. One that was refused for now is asked for again, until the next tick.
    done = function(job, answer)
      local tick, state, word = named(job), states[job], answer[1]
      if word == 'admitted' or word == 'repeated' then
        state.last, state.job, state.reason = whole(tick.tick), answer[2], '-'
        advance(tick, state)
      elseif word == 'idempotency_conflict' then
        state.missed, state.reason = state.missed + 1, '-'
        advance(tick, state)
      elseif state.reason ~= word then
        state.reason = word
        write_schedule(STATES, tick.id, state)
      end
    end,
  }
end
