-- Reads the schedules of one call together, and writes their changes together.
-- needs: schedule_state

-- `ids`: at least one; an id may occur several times. `states` (hash), `next_ticks` (zset): as in schedule_state.lua.
local function open_schedules(ids, states, next_ticks)
  local texts, ticks = redis.call('HMGET', states, unpack(ids)), redis.call('ZMSCORE', next_ticks, unpack(ids))
  -- `places`: the last place of each id in `ids`. By that place: its state (false: none), its next tick in ms, the text
  -- of its new next tick (false: unchanged), and whether its state was changed.
  local places, found, nexts, advanced, changed = {}, {}, {}, {}, {}
  for i, id in ipairs(ids) do
    places[id], found[i], nexts[i] = i, parse_schedule(texts[i]) or false, tonumber(ticks[i] or '-1')
    advanced[i], changed[i] = false, false
  end

  local schedules = {}

  -- Returns the state of the schedule if it has this version and `from` is its next tick, else nil.
  function schedules.due(id, version, from)
    local place = places[id]
    local state = found[place]
    return state and state.version == version and nexts[place] == from and state or nil
  end

  -- To be called after a change of the schedule's state.
  function schedules.note(id)
    changed[places[id]] = true
  end

  -- Sets the next tick (text in ms; -1: none), and notes that the state was changed.
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
