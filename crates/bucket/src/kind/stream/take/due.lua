-- Stream kind: parked jobs that are due.
-- needs: budget, bury, kind/entry, kind/held, kind/ends, kind/give, kind/pending, kind/suspects

-- Jobs that wait for room among the dead letters (hash unburied, job id → its record) are parked and due. Buries those
-- in `due` for which there is room. Returns the other jobs of `due`, and how many were buried.
local function bury_due(keys, due)
  if #due == 0 or redis.call('HLEN', UNBURIED) == 0 then return due, 0 end
  check_letters(keys)
  check_once(keys)
  local records = redis.call('HMGET', UNBURIED, unpack(due))
  local others, buried = {}, 0
  for i, id in ipairs(due) do
    if not records[i] then
      others[#others + 1] = id
    elseif may_read() and #taken + expired + put_aside + buried < outcome_room and may_add_letters(keys) then
      local reason = cjson.decode(records[i]).reason
      local letter = letter_of(id, entry_of(keys.jobs, id), records[i], type(reason) == 'string' and reason or '')
      count_read(letter.fields)
      if add_letter(keys, letter) then
        redis.call('ZREM', PARKED, id)
        bury(keys, letter)
        buried = buried + 1
      end
    end
  end
  put_aside, rare.died = put_aside + buried, rare.died + buried
  return others, buried
end

-- Whether the job is traced: then its trace shows how long it waited.
local function is_traced(entry)
  return option(entry, 'traceparent')
end

local function claim_due(keys, consumer, want, due)
  local counted = redis.call('HMGET', ATTEMPTS, unpack(due))
  local first = 1
  while first <= #due and goes_on(want) do
    local last, entries = math.min(#due, first + at_once(keys, want) - 1), {}
    for _, entry in ipairs(redis.call('XCLAIM', keys.jobs, GROUP, consumer, '0', unpack(due, first, last))) do
      if entry then entries[entry[1]] = entry[2] end
    end
    for i = first, last do
      local id = due[i]
      if entries[id] then
        local due_ms = is_traced(entries[id]) and tonumber(redis.call('ZSCORE', PARKED, id))
        give(keys, id, entries[id], counted[i], due_ms)
      else
        forget_gone(keys, id, counted[i])
      end
    end
    first = last + 1
  end
  redis.call('ZREM', PARKED, unpack(due, 1, first - 1))
end

-- The jobs without suspects that this replica may not have.
local function without_suspects(keys, consumer, due)
  if not keys.pace_found.suspects then return due end
  local others = {}
  for _, id in ipairs(due) do
    local pending = pending_jobs(keys.jobs, id, id, 1)[1]
    if not pending or may_hand_out(keys, consumer, id, pending[4]) then others[#others + 1] = id end
  end
  return others
end

local function hand_out_due(keys, consumer, want, due)
  local most = want
  while true do
    local others, buried = bury_due(keys, due)
    local callable = goes_on(want) and without_suspects(keys, consumer, others) or {}
    if #callable > 0 and goes_on(want) then claim_due(keys, consumer, want, callable) end
    -- Jobs that can't be buried now stay parked.
    if #due < most or #others + buried < #due or not goes_on(want) then return end
    most = want - #taken
    due = read_due(most)
  end
end
