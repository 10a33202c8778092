-- Schedules of one call: read at once, and written at once.
-- needs: schedule_state

-- `ids`: of these, at least one, maybe several times. `states` (hash), `next_ticks` (zset): as in schedule_state.lua.
local function open_schedules(ids, states, next_ticks)
  local texts, ticks = redis.call('HMGET', states, unpack(ids)), redis.call('ZMSCORE', next_ticks, unpack(ids))
  -- Of each id its last place among `ids`. By that place its state, false where it has none; the next tick in ms; and
  -- what that is now where it has changed, as text.
  local places, found, nexts, advanced, changed = {}, {}, {}, {}, {}
  for i, id in ipairs(ids) do
    places[id], found[i], nexts[i] = i, parse_schedule(texts[i]) or false, tonumber(ticks[i] or '-1')
    advanced[i], changed[i] = false, false
  end

  local schedules = {}

  -- The state of the schedule where `from` is the next tick of this very definition; else nil.
  function schedules.due(id, version, from)
    local place = places[id]
    local state = found[place]
    return state and state.version == version and nexts[place] == from and state or nil
  end

  -- Its state has changed.
  function schedules.note(id)
    changed[places[id]] = true
  end

  -- Besides, this tick is the next one, as text; -1: none is.
  function schedules.advance(id, tick)
    local place = places[id]
    nexts[place], advanced[place], changed[place] = tonumber(tick), tick, true
  end

  function schedules.write()
    local words, scores, without = {}, {}, {}
    for i, id in ipairs(ids) do
      if changed[i] then words[#words + 1], words[#words + 2] = id, schedule_text(found[i]) end
      if advanced[i] and nexts[i] >= 0 then
        scores[#scores + 1], scores[#scores + 2] = advanced[i], id
      elseif advanced[i] then
        without[#without + 1] = id
      end
    end
    if #words > 0 then redis.call('HSET', states, unpack(words)) end
    if #scores > 0 then redis.call('ZADD', next_ticks, unpack(scores)) end
    if #without > 0 then redis.call('ZREM', next_ticks, unpack(without)) end
  end

  return schedules
end
