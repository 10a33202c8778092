-- Collects the outcome jobs of one script, and writes them to the outbox (outbox.lua). Only scripts of buckets that may
-- have outcome jobs load this (make_outbox.lua).
-- needs: now, counts, notices, keep, append_to, cut_record

-- `bounds`: maxima of the outcome jobs, their bytes, the bytes of one job, the bytes of an answer, the chain's length.
-- `targets`: names of target buckets by outcome; `most_of_one`: the most targets of any outcome. `chains`: depth and
-- chosen targets of jobs of the batch, by the job's id. `noted`: the fields of each entry to be written;
-- `ended_chains`: how many outcome jobs weren't noted because their chain has reached its maximum length.
local outbox = {
  key = nil, bounds = nil, targets = {}, most_of_one = 0, chains = {}, noted = {}, ended_chains = 0,
}

local function add_target(name, outcomes)
  for outcome in string.gmatch(outcomes, '%S+') do
    local names = outbox.targets[outcome] or {}
    outbox.targets[outcome], names[#names + 1] = names, name
    outbox.most_of_one = math.max(outbox.most_of_one, #names)
  end
end

-- `text`: its first line is for keep.lua. Then come the lines that on_outcome.rs packs, one with the bounds and one for
-- each target, and one for each job of a batch that has a chain.
local function open_outcome_jobs(text, key)
  outbox.key = key
  for line in string.gmatch(text, '\n([^\n]+)') do
    local word, name, words = string.match(line, '^(%S+) (%S+) ?(.*)$')
    if word == 'bounds' then
      local bytes, largest, answer, depth = string.match(words, '^(%d+) (%d+) (%d+) (%d+)$')
      outbox.bounds = {
        most = tonumber(name), most_bytes = tonumber(bytes), largest = tonumber(largest),
        most_answer = tonumber(answer), most_depth = tonumber(depth),
      }
    elseif word == 'of' then
      outbox.chains[name] = words
    else
      add_target(name, words)
    end
  end
  return outbox
end

-- How many more jobs may be taken: the room for outcome jobs without what the jobs in flight may need.
function outbox.room(keys, in_flight)
  local bounds, bytes = outbox.bounds, tonumber(redis.call('HGET', keys.tally, 'outbox_bytes') or nil) or 0
  local left = math.min(bounds.most - redis.call('XLEN', outbox.key), (bounds.most_bytes - bytes) / bounds.largest)
  return math.floor(left / outbox.most_of_one) - in_flight
end

-- Returns the targets of a job that ends with `result`, and its depth in the chain. `chain`: the chain in the job's
-- entry; nil: the one that this script was given, if any.
function outbox.targets_of(id, result, chain)
  local depth, chosen = string.match(chain or outbox.chains[id] or '', '^(%d+) (%S+)$')
  local names = {}
  for _, target in ipairs(outbox.targets[result] or {}) do
    if not chosen or chosen == '*' or string.find(',' .. chosen .. ',', ',' .. target .. ',', 1, true) then
      names[#names + 1] = target
    end
  end
  return names, tonumber(depth or 0)
end

function outbox.note(id, record, result, chain)
  local noted, names, depth = outbox.noted, outbox.targets_of(id, result, chain)
  if depth >= outbox.bounds.most_depth then
    outbox.ended_chains = outbox.ended_chains + #names
    return
  end
  for _, target in ipairs(names) do
    noted[#noted + 1] = {
      'to', target, 'job', id, 'ended', whole(now_ms), 'depth', whole(depth + 1), 'outcome',
      cut_record(record, result, outbox.bounds.most_answer),
    }
  end
end

-- To be called once, after the jobs have been removed.
function outbox.write(keys)
  local key, bytes = outbox.key, 0
  for i, fields in ipairs(outbox.noted) do
    local is_first = i == 1 and redis.call('XLEN', key) == 0
    append_to(key, '*', unpack(fields))
    bytes = bytes + letter_bytes(fields)
    if is_first then publish(key, 'outcomes') end
  end
  count_bytes(keys, 'outbox_bytes', bytes)
  if outbox.ended_chains > 0 then count_up(keys.tally, 'outbox_chains', outbox.ended_chains) end
end
