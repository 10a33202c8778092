-- Idempotency keys of the jobs of one call: read at once where the first is asked for, and written at once.
-- needs: now

-- `first`, `last`: their places in KEYS; there is at least one. `keyed_jobs` (hash) and `key_ends` (zset) as in
-- keep.lua; `most`: how many keys there may be, each for `keep_ms` after its job's end. `wait_to_leave`: µs until this
-- many jobs have left.
local function open_once_keys(first, last, keyed_jobs, key_ends, most, keep_ms, wait_to_leave)
  -- Keys that are past their end are forgotten by and by (retention.lua): until then they count, and name nothing. An
  -- intake does it every 3 s, a member every 2 s. One that is late comes soon.
  local FORGETTING, SOON = 3000, 1000
  -- By name, what the key says, and whether it was there before. What is to be written: names and texts, ids and names.
  local texts, was_there, words, named = {}, {}, {}, {}
  -- By id, the jobs that got one. How many keys there are, and of them those whose job has ended.
  local is_named, held, ends = {}, nil, nil
  local found = redis.call('MGET', unpack(KEYS, first, last))
  for i, text in ipairs(found) do
    if text then texts[KEYS[first + i - 1]], was_there[KEYS[first + i - 1]] = text, true end
  end

  local function count_keys()
    ends = ends or redis.call('ZCARD', key_ends)
    held = held or redis.call('HLEN', keyed_jobs) + ends
    return held
  end

  -- What is of another type is found before anything is written.
  count_keys()
  local once = {}

  -- The job and fingerprint that a key names; nil where it names none. An earlier version wrote keys with a TTL.
  function once.named_by(name)
    local text = texts[name]
    local end_ms = was_there[name] and tonumber(redis.call('ZSCORE', key_ends, name) or nil)
    if text and not (end_ms and end_ms <= now_ms) then return string.match(text, '^(%S+) (%S+)$') end
  end

  -- µs until there is room for one more key; nil when there is.
  function once.room_in(name)
    if count_keys() < most or redis.call('ZSCORE', key_ends, name) then return nil end
    local next_end = redis.call('ZRANGE', key_ends, 0, 0, 'WITHSCORES')
    if next_end[2] then return math.max(SOON, tonumber(next_end[2]) - now_ms + FORGETTING) * 1000 end
    return wait_to_leave(1) + (keep_ms + FORGETTING) * 1000
  end

  -- What was there named a job that has ended long ago: it is no further key.
  function once.name(name, id, fingerprint)
    held = count_keys() + (was_there[name] and 0 or 1)
    texts[name], was_there[name], is_named[id] = id .. ' ' .. fingerprint, false, true
    words[#words + 1], words[#words + 2] = name, texts[name]
    named[#named + 1], named[#named + 2] = id, name
  end

  -- Whether a job that is in the bucket has a key.
  function once.has(id)
    return is_named[id] or redis.call('HEXISTS', keyed_jobs, id) == 1
  end

  -- To be called as soon as the jobs are there.
  function once.write()
    if #words == 0 then return end
    redis.call('MSET', unpack(words))
    redis.call('HSET', keyed_jobs, unpack(named))
    if ends == 0 then return end
    local names = {}
    for i = 1, #words, 2 do names[#names + 1] = words[i] end
    redis.call('ZREM', key_ends, unpack(names))
  end

  return once
end
