-- Refuses a batch of jobs by their sizes alone if the bucket has no room for any of them, so that their bodies aren't
-- sent. None of them has an idempotency key, limits or a caller share, which admit.lua would check first.
--
-- needs: counts, pace, eta, kind/jobs
-- KEYS  1 jobs  2 pace (hash)  3 meter (hash)  4 tally (hash)  5 control (hash), then where a pace has its state
--       (string), then a stream's throttled (zset), flow-state (hash), parked (zset), flows (zset) and ranges (zset) |
--       where a list's takers are counted (hash)
-- ARGV  1 version of the settings (pace.lua)  2 capacity  3 capacity in bytes  4 plan of the pace ('': none)
--       5… bytes of each job
-- Result  { 'changed', … } | { 'undecided' }: at least one may be admitted, or is larger than the bucket, and nothing
--         was changed | { 'full', level, retry after in ms: for each job, or one value for all }
local METER, TALLY = KEYS[3], KEYS[4]
local SIZES = 5
local changed, is_paused = control_read(KEYS[5], ARGV[1])
if changed then return changed end
local capacity, capacity_bytes = tonumber(ARGV[2]), tonumber(ARGV[3])

local pace = pace_read(KEYS[2], is_paused)
local totals = redis.call('HMGET', TALLY, 'bytes', 'delivered', 'dead')
-- As in batch.lua.
pace.new = pace.new or not (totals[2] or totals[3])
local look = pace_look(pace, ARGV[4])
local level = count_jobs(KEYS[1], true)
-- Somebody may have deleted jobs by hand.
local bytes = level > 0 and tonumber(totals[1] or nil) or 0
rates.look(METER, 'leak', 'refused', 'call')

local answer, is_full = { 'full', level }, level >= capacity
for i = SIZES, #ARGV do
  local size = tonumber(ARGV[i])
  local has_room = not is_full and bytes + size <= capacity_bytes
  if has_room or size > capacity_bytes then return { 'undecided' } end
  if not is_full then
    local wait = wait_for_bytes(METER, pace, look, level, bytes, bytes + size - capacity_bytes)
    answer[#answer + 1] = math.ceil(wait / 1000)
  end
end
if is_full then answer[3] = math.ceil(wait_for_room(METER, pace, look, level, level - capacity + 1) / 1000) end

local refused = #ARGV - SIZES + 1
count_up(TALLY, 'refused:bucket_full', refused)
rates.count(METER, 'refused', refused)
rates.flush(METER)
return answer
