-- Outcome jobs: what other buckets are given for the ends of jobs here (on_outcome). Each waits in the stream `outbox`,
-- in the slot of this bucket, from the script that ends its job until the other bucket has accepted it (hand_over.rs).
-- Fields: to, job, ended (ms), depth, outcome (the record, its texts cut). Bounded by number and bytes, which the tally
-- counts: a take leaves room for all that is in flight.
-- needs: now, notices, keep, append_to

-- nil where no end goes anywhere. `text`: what is kept, and behind its first line what on_outcome.rs packs: the bounds,
-- a line for each target, and one for each job of a batch that says something about it.
local function open_outbox(text, key)
  local at = string.find(text, '\n', 1, true)
  if not at then return nil end
  local bounds, targets, chains, most_of_one = {}, {}, {}, 0
  for line in string.gmatch(string.sub(text, at + 1), '[^\n]+') do
    local word, name, words = string.match(line, '^(%S+) (%S+) ?(.*)$')
    if word == 'bounds' then
      for number in string.gmatch(line, '%d+') do bounds[#bounds + 1] = tonumber(number) end
    elseif word == 'of' then
      chains[name] = words
    else
      for outcome in string.gmatch(words, '%S+') do
        local to = targets[outcome] or {}
        targets[outcome], to[#to + 1] = to, name
        most_of_one = math.max(most_of_one, #to)
      end
    end
  end
  local most, most_bytes, largest, most_answer, most_depth = unpack(bounds)
  local outbox, noted, ended_chains = {}, {}, 0

  -- To no more bytes than this, as JSON writes them, and not within a character. Whether it was longer.
  local function shorten(of, name, most_written)
    local before = of[name]
    if type(before) ~= 'string' then return false end
    local short = before
    while #cjson.encode(short) - 2 > most_written do
      local kept = #short > most_written and most_written or math.floor(#short / 2)
      -- Base64 comes in fours.
      if of.base64 then kept = kept - kept % 4 end
      while kept > 0 and math.floor((string.byte(short, kept + 1) or 0) / 64) == 2 do kept = kept - 1 end
      short = string.sub(short, 1, kept)
    end
    of[name] = short
    return #short < #before
  end

  local LONGEST_REASON, LONGEST_TYPE, LONGEST_LINE = 200, 100, 512

  -- A record, its texts as short as those of failed attempts are kept.
  local function cut(record, result)
    if string.sub(record, 1, 1) ~= '{' then return string.sub(record, 1, LONGEST_LINE) end
    local readable, outcome = pcall(cjson.decode, record)
    -- Somebody else may have written it.
    if not readable or type(outcome) ~= 'table' then return cjson.encode({ result = result, attempts = 0 }) end
    local answer = type(outcome.answer) == 'table' and outcome.answer or {}
    shorten(outcome, 'reason', LONGEST_REASON)
    shorten(outcome, 'caller', LONGEST_CALLER)
    shorten(answer, 'content_type', LONGEST_TYPE)
    if shorten(answer, 'body', most_answer) then answer.truncated = true end
    return cjson.encode(outcome)
  end

  -- For how many more jobs there is room, beside those in flight.
  function outbox.room(keys, in_flight)
    local bytes = tonumber(redis.call('HGET', keys.tally, 'outbox_bytes') or 0)
    local left = math.min(most - redis.call('XLEN', key), (most_bytes - bytes) / largest)
    return math.floor(left / most_of_one) - in_flight
  end

  -- Raises the error of a key that holds another type.
  function outbox.check()
    redis.call('XLEN', key)
  end

  -- The targets of such an end, and how long the chain is. `chain`: what the job says about it, as its entry has it;
  -- nil: as this script was given it, or nothing.
  function outbox.targets_of(id, result, chain)
    local depth, chosen = string.match(chain or chains[id] or '', '^(%d+) (%S+)$')
    local names = {}
    for _, target in ipairs(targets[result] or {}) do
      if not chosen or chosen == '*' or string.find(',' .. chosen .. ',', ',' .. target .. ',', 1, true) then
        names[#names + 1] = target
      end
    end
    return names, tonumber(depth or 0)
  end

  function outbox.note(id, record, result, chain)
    local names, depth = outbox.targets_of(id, result, chain)
    if depth >= most_depth then
      ended_chains = ended_chains + #names
      return
    end
    for _, target in ipairs(names) do
      noted[#noted + 1] = {
        'to', target, 'job', id, 'ended', whole(now_ms), 'depth', whole(depth + 1), 'outcome', cut(record, result),
      }
    end
  end

  -- To be called once, when the jobs have left.
  function outbox.write(keys)
    local bytes = 0
    for i, fields in ipairs(noted) do
      local is_first = i == 1 and redis.call('XLEN', key) == 0
      append_to(key, '*', unpack(fields))
      bytes = bytes + letter_bytes(fields)
      if is_first then publish(key, 'outcomes') end
    end
    count_bytes(keys, 'outbox_bytes', bytes)
    if ended_chains > 0 then redis.call('HINCRBY', keys.tally, 'outbox_chains', ended_chains) end
  end

  return outbox
end
