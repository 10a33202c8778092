-- Takes over what a dead replica holds: due again for all, at the bucket's pace, the delivery count unchanged; a job
-- that was handed out too often without an end is buried. The consumer goes when it holds nothing.
--
-- Of jobs that died together time and again, one may kill the replicas, and the others would be buried with it: past
-- half of their deliveries they are due one after the other, and no take hands out one beside another (suspects.lua).
-- One that is no member was handed jobs by somebody else: the time of those may not have come.
--
-- needs: at_maxmemory, budget, constants, counts, outbox, record, bury, record_each
-- needs: kind/entry, kind/consumers, kind/leave_flows
-- KEYS  1 jobs  2 meter (hash)  3 tally (hash)  4 replicas (hash)  5 batches (hash)  6 outcomes (hash)  7 ended (zset)
--       8 dead (stream)  9 letters (hash)  10 sizes (zset)  11 takes (hash)  12 holders (hash)  13 keyed jobs (hash)
--       14 key ends (zset)  15 notices (zset)  16 pace (hash)  17 outbox (stream) where ends go elsewhere, then the
--       kind's, as in settle.lua
-- ARGV  1 the consumer  2 its heartbeats as they stood still ('' for one that is no member; '*' for one's own leaving)
--       3 the most deliveries  4 what is kept (keep.lua)  5 the most jobs to take over in this call; of those that are
--       buried no more than BATCH_BYTES, or one  6 how many suspects the calls before have found
-- Result  { 'alive' } when it has moved since, else { 'more' | 'gone', recovered, poisoned, suspects so far }
local keys = {
  jobs = KEYS[1], meter = KEYS[2], tally = KEYS[3], outcomes = KEYS[6], ended = KEYS[7], dead = KEYS[8],
  letters = KEYS[9], sizes = KEYS[10], holders = KEYS[12], keyed_jobs = KEYS[13], key_ends = KEYS[14],
  notices = KEYS[15], keep = ARGV[4], outbox = open_outbox(ARGV[4], KEYS[17]),
}
local REPLICAS, BATCHES, TAKES, PACE = KEYS[4], KEYS[5], KEYS[11], KEYS[16]
local consumer, seen, most_deliveries, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[5])
local leaving, is_member = seen == '*', seen ~= ''
-- How long after each other suspects are due, in ms: at least so long, and long enough for most calls to end meanwhile.
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
-- How many ms before a job may be called; nil where this script may read no more. An element of a list is read by then,
-- and its time has always come.
local function wait_for(job)
  if is_member or job_id(job) ~= job then return 0 end
  if not may_read() then return nil end
  local entry = entry_of(keys.jobs, job)
  count_read(entry)
  return math.max(0, (tonumber(field(entry, 'due')) or 0) - now_ms)
end

local held, next = held_by(keys, consumer, most, '')
local recovered, poisoned, suspects, bytes, all = 0, 0, tonumber(ARGV[6]), 0, next == ''
local left = {}
for _, found in ipairs(held) do
  local job, deliveries = found[1], found[2]
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
    bytes, left[#left + 1] = bytes + letter.bytes, job
  else
    local due_in = wait_for(job)
    if not due_in then
      all = false
      break
    end
    -- Who leaves in order has not failed the job: that delivery doesn't count.
    local count = leaving and math.max(0, deliveries - 1) or deliveries
    local suspect = not leaving and deliveries * 2 > most_deliveries
    local wait = math.max(due_in, suspect and suspects * gap or 0)
    if release(keys, job, count, wait) then recovered = recovered + 1 end
    if suspect then suspects = suspects + 1 end
    left[#left + 1] = job
  end
end
if suspects > 0 and keeps_suspects_apart then
  -- Which of them are in flight is for the takes to say.
  local in_flight = string.match(noted_suspects or '', ' .*$') or ''
  redis.call('HSET', PACE, 'suspects', whole(most_deliveries) .. in_flight)
end
record_exits(keys)
leave_flows(left, keys.notices)
if recovered > 0 and not leaving then count_up(keys.tally, 'recovered', recovered) end
if not all then return { 'more', recovered, poisoned, suspects } end
remove_consumer(keys.jobs, consumer)
return { 'gone', recovered, poisoned, suspects }
