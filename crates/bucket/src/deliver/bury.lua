-- Buries a job: moves it whole to the stream of dead letters, with the reason. The oldest letters are dropped for it.
-- needs: now, keep, letters, record_each, kind/entry, kind/held, kind/put_back

-- Whether XADD was refused: somebody has added a letter with the largest possible id.
local has_no_ids = false

-- Reads all that burying needs. Writes nothing, so an error here changes nothing. `attempt`: record of the failed
-- attempt, '' or nil without one.
local function letter_of(job, entry, outcome, reason, attempt)
  -- An entry of a plain XADD may have any number of fields. The letter has the first of them.
  local MOST_FIELDS = 100
  local id = job_id(job)
  local fields, own = { 'job', id, 'reason', reason, 'outcome', outcome }, letter_fields(entry)
  for i = 1, math.min(#own, 2 * MOST_FIELDS) do fields[#fields + 1] = own[i] end
  return {
    job = job, id = id, outcome = outcome, fields = fields, bytes = letter_bytes(fields),
    is_whole = #entry > 0, counted = counted_bytes(entry), caller = caller_of(entry), chain = field(entry, 'chain'),
    attempt = attempt ~= '' and attempt or nil,
  }
end

local function may_add_letters(keys)
  return not has_no_ids and not dead_is_full(keys)
end

-- Adds the letter before its job is removed, so that the job isn't lost. Returns whether it could be added.
local function add_letter(keys, letter)
  if not may_add_letters(keys) then return false end
  -- A job that somebody deleted by hand has no letter, only an outcome.
  if not letter.is_whole then return true end
  drop_letters(keys, 1, letter.bytes)
  local added = redis.pcall('XADD', keys.dead, '*', unpack(letter.fields))
  if type(added) ~= 'string' then
    -- An empty stream still refuses ids up to its last one.
    if redis.call('XLEN', keys.dead) == 0 then redis.call('DEL', keys.dead) end
    -- Raises the error in a list, whose jobs can't wait for their letters.
    added = (waits_for_letter and redis.pcall or redis.call)('XADD', keys.dead, '*', unpack(letter.fields))
  end
  has_no_ids = type(added) ~= 'string'
  if has_no_ids then return false end
  index_letter(keys, added, letter.bytes, letter.id)
  count_bytes(keys, 'dead_bytes', letter.bytes)
  return true
end

-- Removes a job whose letter was added.
local function bury(keys, letter)
  ack_and_delete(keys, { letter.job })
  record(keys, letter.id, letter.outcome, 'dead', letter.counted, letter.caller, letter.attempt, letter.chain)
end

-- Buries a job, or if no letter can be added, parks it with its record until one can be. Returns whether it was buried.
-- `is_added`: whether its letter was added; nil if that wasn't tried.
local function bury_or_keep(keys, letter, is_added)
  if is_added == nil then is_added = add_letter(keys, letter) end
  if not is_added then
    local is_there = keep_unburied(keys, letter.job, letter.outcome)
    if is_there and letter.attempt then keep_failed(keys, letter.id, letter.attempt) end
    return false
  end
  bury(keys, letter)
  return true
end

-- Raises the error of a key that holds another type before anything is written: scripts don't roll back.
local function check_letters(keys)
  redis.call('XLEN', keys.dead)
  redis.call('HLEN', keys.letters)
  redis.call('ZCARD', keys.sizes)
end
