-- Burying a job: out of the bucket, whole into the stream of dead letters, with the reason; the oldest letters make
-- room.
-- needs: now, keep, letters, record_each, kind/entry, kind/held, kind/put_back

-- Reads all that burying takes and writes nothing, so that what fails here has changed nothing. `attempt`: the failed
-- one, '' or nil where the job dies of none.
local function letter_of(job, entry, outcome, reason, attempt)
  -- A foreign entry may have any number of fields: the letter has the first of them.
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

local function bury(keys, letter)
  ack_and_delete(keys, { letter.job })
  -- Of a job that somebody deleted by hand nothing is left but how it ended.
  if letter.is_whole then
    drop_letters(keys, 1, letter.bytes)
    local buried = redis.call('XADD', keys.dead, '*', unpack(letter.fields))
    index_letter(keys, buried, letter.bytes, letter.id)
    count_bytes(keys, 'dead_bytes', letter.bytes)
  end
  record(keys, letter.id, letter.outcome, 'dead', letter.counted, letter.caller, letter.attempt, letter.chain)
end

-- Where nothing may be buried now, the job stays in the bucket, parked with its record, until that can be done. Whether
-- it has left.
local function bury_or_keep(keys, letter)
  if dead_is_full(keys) then
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
