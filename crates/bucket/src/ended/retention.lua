-- Forgets ended work that is older, more or larger than what is kept: also of a bucket in which nothing ends any more.
-- A bounded number at a time. And what somebody deleted by hand is counted no more, where nothing else is there; and
-- the time of the idempotency keys of such jobs begins.
--
-- needs: now, letters, keep, keep_keys, keep_outcomes, kind/gone
-- KEYS  1 tally (hash)  2 outcomes (hash)  3 ended (zset)  4 dead (stream)  5 letters (hash)  6 sizes (zset)
--       7 key ends (zset)  8 keyed jobs (hash)  9 jobs  10 outbox (stream), then idempotency keys (string) that are to
--       be forgotten where their time has come, then where a list's takers are counted (hash)
-- ARGV  1 what is kept (keep.lua)
--       2 the most idempotency keys to name
--       3 where to go on in the keyed jobs, as HSCAN writes it; '' to leave them
-- Result  { how many outcomes and letters went, letters dropped since the bucket began, '1' where a deadline of a job
--         may have passed (expire.lua), where to go on in the keyed jobs, idempotency keys whose time has come… }
local keys = {
  tally = KEYS[1], outcomes = KEYS[2], ended = KEYS[3], dead = KEYS[4], letters = KEYS[5], sizes = KEYS[6],
  key_ends = KEYS[7], keyed_jobs = KEYS[8], keep = ARGV[1],
}
local KEY_ENDS, JOBS, OUTBOX, FIRST_NAME = KEYS[7], KEYS[9], KEYS[10], 11
local cursor = ARGV[3]
-- In one call: as many as a page of HSCAN has.
local KEYED_AT_ONCE = 500

for i = FIRST_NAME, #KEYS do
  local ends = redis.call('ZSCORE', KEY_ENDS, KEYS[i])
  -- It may name another job by now.
  if ends and tonumber(ends) <= now_ms then
    redis.call('DEL', KEYS[i])
    redis.call('ZREM', KEY_ENDS, KEYS[i])
  end
end

-- What is counted where nothing is left, and its index.
local function forget_count(counter, count_command, key, ...)
  local counted = tonumber(redis.call('HGET', keys.tally, counter) or nil) or 0
  if counted == 0 or redis.call(count_command, key) > 0 then return counted end
  redis.call('HDEL', keys.tally, counter)
  if ... then redis.call('DEL', ...) end
  return 0
end

local outcomes_bytes = forget_count('outcomes_bytes', 'HLEN', keys.outcomes, keys.ended)
forget_count('dead_bytes', 'XLEN', keys.dead, keys.letters, keys.sizes)
forget_count('outbox_bytes', 'XLEN', OUTBOX)
local gone, freed = forget_outcomes(keys, 0, redis.call('HLEN', keys.outcomes), outcomes_bytes)
count_bytes(keys, 'outcomes_bytes', -freed)
gone = gone + drop_letters(keys, 0, 0)
local names = redis.call('ZRANGE', KEY_ENDS, '-inf', whole(now_ms), 'BYSCORE', 'LIMIT', 0, ARGV[2])
if cursor ~= '' then
  local page = redis.call('HSCAN', keys.keyed_jobs, cursor, 'COUNT', KEYED_AT_ONCE)
  cursor = page[1]
  local is_gone = #page[2] > 0 and surely_gone(JOBS)
  for i = 1, #page[2], 2 do
    if is_gone(page[2][i]) then end_key(keys, page[2][i]) end
  end
end
local noted = redis.call('HMGET', keys.tally, 'dead_dropped', 'deadline', 'deadline_known')
-- One that is no number says nothing: then it is looked for.
local is_overdue = noted[2] and (tonumber(noted[2]) or 0) <= now_ms
-- Earlier versions didn't note deadlines: all jobs are looked at once.
if not noted[3] and redis.call('EXISTS', JOBS) == 1 then is_overdue = true end
return { gone, tonumber(noted[1] or nil) or 0, is_overdue and '1' or '0', cursor, unpack(names) }
