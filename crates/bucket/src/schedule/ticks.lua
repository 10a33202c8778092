-- Jobs of schedules: each is for one tick, and judged only as long as that tick is the next of its schedule and has
-- come, by the clock of Redis. The script that adds the job writes the tick after it. So a tick has one job, however
-- many call for it, and however often.
-- needs: now, known_schedules

-- `text`: JSON of the places of two keys in KEYS, the states (hash) and next ticks (zset); then for each job the
-- schedule's id, its version, the tick that is its next one, the one that gets the job, as text, the one after it, as
-- text (-1: none), how many get none, and whether the job of an earlier tick lets it pass. `is_there`: whether a job of
-- a schedule is in the bucket.
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
    -- Why the tick of a job gets none; nil: it is judged as any.
    refuse = function(job)
      id, version, from, tick, next_tick, missed, may_overlap = unpack(given[job])
      state = schedules.due(id, version, from)
      if not state or tonumber(tick) > now_ms then return { 'gone' } end
      if may_overlap or not is_there(state.job) then return nil end
      count_ticks(state, 'overlapped', 1)
      advance(next_tick)
      return { 'overlapped' }
    end,
    -- What became of the job that was asked about last, by the first word of the answer, and its id where it is in the
    -- bucket. One that was refused for now is asked for again, until the next tick; those before it are missed already.
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
