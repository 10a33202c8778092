-- Finds a job: in the stream, or how it ended.
--
-- needs: now, budget, shown_fields, kind/pending, kind/view
-- KEYS  1 jobs (stream)  2 parked (zset)  3 attempts (hash)  4 outcomes (hash)  5 failed (hash)
-- ARGV  1 id  2 '1': also its payload
-- Result  { bytes read } | { bytes read, 'ended', its outcome } | { bytes read, id, state, failed attempts, due in ms
--         or '', caller, consumer or '', priority or '', group or '', what is kept of those attempts, the dead letter
--         that it was, then as in shown_fields.lua }
local keys = { parked = KEYS[2], attempts = KEYS[3] }
local id = ARGV[1]
local found = redis.call('XRANGE', KEYS[1], id, id)[1]
if found then
  count_read(found[2])
  local job = classify(keys, id, found[2], owner_of(KEYS[1], id))
  job[#job + 1] = redis.call('HGET', KEYS[5], id) or ''
  job[#job + 1] = field(found[2], 'replay_of') or ''
  if ARGV[2] == '1' then job[#job + 1], job[#job + 2] = shown_fields(found[2]) end
  table.insert(job, 1, bytes_read)
  return job
end
local outcome = redis.call('HGET', KEYS[4], id)
return outcome and { bytes_read, 'ended', outcome } or { bytes_read }
