-- Puts a dead letter back as a new job, if there is room; the letter goes. A replay of many counts it.
--
-- needs: now, counts, granted, pace, mixed, eta, caller_share, letters, notices, largest_job, kind/entry, kind/jobs
-- KEYS  1 jobs  2 pace (hash)  3 meter (hash)  4 tally (hash)  5 control (hash)  6 dead (stream)  7 letters (hash)
--       8 sizes (zset)  9 holders (hash)  10 replays (hash)  11 notices (zset), then where a pace has its state
--       (string), then a stream's throttled (zset), flow-state (hash), parked (zset), flows (zset) and ranges (zset) |
--       where a list's takers are counted (hash)
-- ARGV  1 version of what is in force (pace.lua)  2 id of the job that died  3 capacity  4 capacity in bytes
--       5 plan of the pace ('': none)
--       6 the most jobs of one caller (0: not bounded; free: as many as there is room)  7 the most bytes of one caller
--       8 ms until the new job is due (0: at once)  9 the replay of many that this is part of, or ''
--       10 the kind of the bucket, then names and values of the new job, where it isn't as the one that died
-- Result  { 'changed', … } | { 'absent' } | { 'ended' }: that replay has | { 'admitted', new id, level, eta in ms }
--         { 'other_kind' }: the letter is of the bucket's earlier kind, so the new job must be given
--         { 'bucket_full' | 'max_share' | 'never_fits', retry after in ms (-1: never), level }
local keys = { jobs = KEYS[1], tally = KEYS[4], dead = KEYS[6], letters = KEYS[7], sizes = KEYS[8] }
local PACE, METER, TALLY = KEYS[2], KEYS[3], KEYS[4]
local CONTROL, HOLDERS, REPLAYS, NOTICES = KEYS[5], KEYS[9], KEYS[10], KEYS[11]
local version, job, capacity, capacity_bytes = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local plan, delay, part_of, is_list, FIRST_EDITED = ARGV[5], tonumber(ARGV[8]), ARGV[9], ARGV[10] == 'list', 11
local most_of_one, most_bytes_of_one = ARGV[6], ARGV[7]
local changed, is_paused = control_read(CONTROL, version)
if changed then return changed end
local replay = part_of ~= '' and redis.call('HMGET', REPLAYS, part_of .. ':state', part_of .. ':done')
if replay and replay[1] ~= 'running' then return { 'ended' } end
local letter = redis.call('HGET', keys.letters, job)
local found = letter and redis.call('XRANGE', keys.dead, letter, letter)[1]
if not found then return { 'absent' } end

local pace = pace_read(PACE, is_paused)
local look = pace_look(pace, plan)
local level, pending = count_jobs(keys.jobs)
local NOT_AGAIN = { job = true, reason = true, outcome = true, due = true, expires = true }
local entry = { unpack(ARGV, FIRST_EDITED) }
if #entry == 0 then
  local has_body = field(found[2], 'body') or field(found[2], 'request_details')
  if is_list ~= (field(found[2], 'element') ~= nil and not has_body) then return { 'other_kind' } end
  for i = 1, #found[2], 2 do
    local name, value = found[2][i], found[2][i + 1]
    -- Its first deadline has passed with its first life.
    if not NOT_AGAIN[name] then
      entry[#entry + 1] = name
      entry[#entry + 1] = value
    end
  end
end
if delay > 0 then
  entry[#entry + 1] = 'due'
  entry[#entry + 1] = whole(now_ms + delay)
end
local size = counted_bytes(entry)
-- Its capacity may have been lowered since it died.
if size > capacity_bytes then return { 'never_fits', -1, level } end
local counted = redis.call('HMGET', TALLY, 'bytes', 'largest', 'accepted', 'replayed')
-- Somebody may have deleted jobs by hand.
local bytes, largest = level > 0 and tonumber(counted[1] or nil) or 0, read_largest(counted[2])
local full
if level >= capacity then
  full = wait_for_room(METER, pace, look, level, level - capacity + 1)
elseif bytes + size > capacity_bytes then
  full = wait_for_bytes(METER, pace, look, level, bytes, bytes + size - capacity_bytes)
end
if full then return { 'bucket_full', math.ceil(full / 1000), level } end
local caller = size > 0 and caller_of(entry)
local holding = holding_of(
  most_of_one, most_bytes_of_one, HOLDERS, caller, level, bytes, capacity - level, capacity_bytes - bytes
)
if has_its_share(holding, size) then
  return { 'max_share', math.ceil(wait_for_share(METER, pace, look, level, holding, size) / 1000), level }
end
local eta = math.max(wait_for_turn(METER, pace, look, level - pending) / 1000, delay)
-- What is of another type is found before anything is written.
redis.call('ZCARD', keys.sizes)
redis.call('HLEN', HOLDERS)
rates.look(METER, 'leak', 'accepted')
check_granted(TALLY, 'HSET', 'HDEL', 'XDEL', 'ZREM')
local was_idle = is_idle(level, pending)
local id = append(keys, entry)
-- What has nothing in it can't come back.
if not id then return { 'absent' } end
note_mixed(PACE, pace, field(entry, 'due'), field(entry, 'group'), field(entry, 'priority'))
note_largest(largest, level, size)
write_largest(TALLY, largest)
if was_idle then rates.restart(METER, 'leak') end
remove_letter(keys, letter, found[2])
local function one_more(count)
  return whole((tonumber(count or nil) or 0) + 1)
end
redis.call(
  'HSET', TALLY, 'bytes', whole(bytes + size), 'accepted', one_more(counted[3]), 'replayed', one_more(counted[4])
)
if replay then redis.call('HSET', REPLAYS, part_of .. ':done', one_more(replay[2])) end
count_held(caller, 1, size)
write_holders(HOLDERS)
rates.count(METER, 'accepted', 1)
rates.flush(METER)
if level <= pending then publish_jobs(NOTICES) end
return { 'admitted', id, level + 1, math.floor(eta) }
