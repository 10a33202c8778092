-- Buries a job: out of the bucket, whole into the stream of dead letters, with the reason; the oldest letters make room.
--
-- Dead letter: fields job, reason, outcome (the record), then the entry's own fields. Hash letters: job id → letter's id.
local function bury(keys, job, outcome, reason, most)
  local id, entry = job_id(job), entry_of(keys.jobs, job)
  withdraw(keys, { job })
  local excess = redis.call('XLEN', keys.dead) - most + 1
  if excess > 0 then
    for _, letter in ipairs(redis.call('XRANGE', keys.dead, '-', '+', 'COUNT', math.min(excess, 100))) do
      redis.call('XDEL', keys.dead, letter[1])
      redis.call('HDEL', keys.letters, field(letter[2], 'job'))
      redis.call('HINCRBY', keys.tally, 'dead_dropped', 1)
    end
  end
  local letter = redis.call('XADD', keys.dead, '*', 'job', id, 'reason', reason, 'outcome', outcome, unpack(entry))
  redis.call('HSET', keys.letters, id, letter)
  record(keys, id, outcome, 'dead', counted_bytes(entry), caller_of(entry))
end
