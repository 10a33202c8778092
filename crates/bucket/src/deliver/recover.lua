-- Requeues the jobs of a dead replica: they are due at once, at the bucket's pace, with their delivery counts
-- unchanged. A job with too many deliveries is buried. The consumer is removed when it has no job left.
--
-- Suspects: if one job kills its replicas, the jobs beside it would be buried with it. So jobs with more than half of
-- their deliveries are due one after the other, and a take hands out only one of them at a time (suspects.lua).
-- A consumer that isn't a member was handed its jobs by somebody else; these may not be due yet.
--
-- needs: at_maxmemory, budget, constants, counts, outbox, record, bury, record_each
-- needs: kind/entry, kind/consumers, kind/leave_flows
-- KEYS  1 jobs  2 meter (hash)  3 tally (hash)  4 replicas (hash)  5 batches (hash)  6 outcomes (hash)  7 ended (zset)
--       8 dead (stream)  9 letters (hash)  10 sizes (zset)  11 takes (hash)  12 holders (hash)  13 keyed jobs (hash)
--       14 key ends (zset)  15 notices (zset)  16 pace (hash)  17 outbox (stream) with on_outcome, then the kind's, as
--       in settle.lua
-- ARGV  1 the consumer  2 its last known heartbeats ('' if it isn't a member; '*' if it calls this itself to leave)
--       3 maximum deliveries  4 what is kept (keep.lua)  5 maximum jobs to requeue in this call; of those that are
--       buried no more than BATCH_BYTES, or one  6 how many suspects earlier calls have found
-- Result  { 'alive' } if it has sent a heartbeat since, else { 'more' | 'gone', recovered, poisoned, suspects so far }
local keys = {
  jobs = KEYS[1], meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[6], ended = KEYS[7], dead = KEYS[8],
  letters = KEYS[9], sizes = KEYS[10], holders = KEYS[12], keyed_jobs = KEYS[13], key_ends = KEYS[14],
  notices = KEYS[15], keep = ARGV[4], outbox = open_outbox(ARGV[4], KEYS[17]),
}
local REPLICAS, BATCHES, TAKES, PACE = KEYS[4], KEYS[5], KEYS[11], KEYS[16]
local consumer, seen, most_deliveries, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[5])
local leaving, is_member = seen == '*', seen ~= ''
-- The time between suspects: at least this many ms, and as long as this many mean calls, so that most calls end in it.
local SUSPECT_GAP, MEAN_CALLS = 500, 4

local beats = redis.call('HGET', REPLICAS, consumer)
if not leaving and (beats or '') ~= seen then return { 'alive' } end
-- All that can fail comes before the first write: a script doesn't roll back.
check_types(keys)
check_letters(keys)
local noted_suspects = redis.call('HGET', PACE, 'suspects')
redis.call('HDEL', TAKES, consumer)
redis.call('HDEL', BATCHES, consumer)
redis.call('HDEL', REPLICAS, consumer)

local call_ms = (tonumber(rates.texts.call or nil) or 0) / 1000
local gap = math.max(SUSPECT_GAP, MEAN_CALLS * call_ms)
-- The ms until a job is due; nil if this script may read no more. An element of a list is always due.
local function wait_for(job)
  if is_member or job_id(job) ~= job then return 0 end
  if not may_read() then return nil end
  local entry = entry_of(keys.jobs, job)
  count_read(entry)
  return math.max(0, (tonumber(field(entry, 'due')) or 0) - now_ms)
end

local claimed, next = held_by(keys, consumer, most, '')
local recovered, poisoned, suspects, bytes, all = 0, 0, tonumber(ARGV[6]), 0, next == ''
local released = {}
for _, claim in ipairs(claimed) do
  local job, deliveries = claim[1], claim[2]
  if not leaving and deliveries >= most_deliveries then
    local times = deliveries == 1 and 'once' or deliveries .. ' times'
    local reason = 'handed out ' .. times .. ' without an end: it seems to kill its processor'
    if bytes >= BATCH_BYTES / 2 then
      all = false
      break
    end
    local entry = entry_of(keys.jobs, job)
    local outcome = outcome_of('dead', reason, failures_of(job) + deliveries, caller_of(entry))
    local letter = letter_of(job, entry, outcome, reason)
    if bury_or_keep(keys, letter) then poisoned = poisoned + 1 else recovered = recovered + 1 end
    bytes, released[#released + 1] = bytes + letter.bytes, job
  else
    local due_in = wait_for(job)
    if not due_in then
      all = false
      break
    end
    -- A delivery by a replica that leaves in order doesn't count.
    local count = leaving and math.max(0, deliveries - 1) or deliveries
    local suspect = not leaving and deliveries * 2 > most_deliveries
    local wait = math.max(due_in, suspect and suspects * gap or 0)
    if release(keys, job, count, wait) then recovered = recovered + 1 end
    if suspect then suspects = suspects + 1 end
    released[#released + 1] = job
  end
end
if suspects > 0 and keeps_suspects_apart then
  -- Keeps the part about those in flight, which takes write.
  local in_flight = string.match(noted_suspects or '', ' .*$') or ''
  redis.call('HSET', PACE, 'suspects', whole(most_deliveries) .. in_flight)
end
record_exits(keys)
leave_flows(released, keys.notices)
if recovered > 0 and not leaving then count_up(keys.tally, 'recovered', recovered) end
if not all then return { 'more', recovered, poisoned, suspects } end
remove_consumer(keys.jobs, consumer)
return { 'gone', recovered, poisoned, suspects }
