-- The idempotency keys of a batch: all are read by one command, and all written by one.
-- needs: now

-- `first`, `last`: their indices in KEYS; there is at least one. `keyed_jobs` (hash) and `key_ends` (zset): as in
-- keep.lua; `most`: maximum number of keys, each kept for `keep_ms` after its job's end; `wait_to_leave(jobs)`: µs
-- until this many jobs have left.
local function open_once_keys(first, last, keyed_jobs, key_ends, most, keep_ms, wait_to_leave)
  -- retention.lua deletes expired keys: called by an intake every 3 s, by a member every 2 s. Until then they count,
  -- but name no job. An overdue deletion is expected within a second.
  local RETENTION_MS, OVERDUE_MS = 3000, 1000
  -- By name: the text of the key, and whether it existed. To be written: names and texts, ids and names.
  local texts, was_there, words, named = {}, {}, {}, {}
  -- By id: the jobs of this batch with a key. The number of all keys, and of those whose job has ended.
  local is_named, number, ends = {}, nil, nil
  for i, text in ipairs(redis.call('MGET', unpack(KEYS, first, last))) do
    if text then texts[KEYS[first + i - 1]], was_there[KEYS[first + i - 1]] = text, true end
  end

  local function count_keys()
    ends = ends or redis.call('ZCARD', key_ends)
    number = number or redis.call('HLEN', keyed_jobs) + ends
    return number
  end

  -- Now, so that the script fails before its first write if these keys have another type.
  count_keys()
  local once = {}

  -- The job of an idempotency key and its fingerprint; nil if it names no job. Keys of an earlier version have a TTL
  -- instead of an end in `key_ends`.
  function once.named_by(name)
    local text = texts[name]
    local end_ms = was_there[name] and tonumber(redis.call('ZSCORE', key_ends, name) or nil)
    if text and not (end_ms and end_ms <= now_ms) then return string.match(text, '^(%S+) (%S+)$') end
  end

  -- µs until there is room for one more key; nil if there is room.
  function once.room_in(name)
    if count_keys() < most or redis.call('ZSCORE', key_ends, name) then return nil end
    local next_end = redis.call('ZRANGE', key_ends, 0, 0, 'WITHSCORES')
    if next_end[2] then return math.max(OVERDUE_MS, tonumber(next_end[2]) - now_ms + RETENTION_MS) * 1000 end
    return wait_to_leave(1) + (keep_ms + RETENTION_MS) * 1000
  end

  -- Sets the job of a key. An expired key of this name was counted already.
  function once.name(name, id, fingerprint)
    number = count_keys() + (was_there[name] and 0 or 1)
    texts[name], was_there[name], is_named[id] = id .. ' ' .. fingerprint, false, true
    words[#words + 1], words[#words + 2] = name, texts[name]
    named[#named + 1], named[#named + 2] = id, name
  end

  -- Whether a job in the bucket has a key.
  function once.has(id)
    return is_named[id] or redis.call('HEXISTS', keyed_jobs, id) == 1
  end

  -- To be called right after the jobs were appended.
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
