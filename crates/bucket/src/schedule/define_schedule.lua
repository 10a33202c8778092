-- Defines or redefines a schedule, within the maximum number and bytes of the bucket's schedules.
--
-- needs: now, granted, schedule_state, is_deleted
-- KEYS  1 schedules (hash)  2 next ticks (zset)  3 states (hash)  4 tally (hash)  5 control (hash)
-- ARGV  1 id  2 the version that the caller knows ('': none)  3 the new version  4 definition  5 '1': paused, or '0'
--       6 the next tick in ms ('': unchanged, -1: none)  7 maximum schedules  8 maximum bytes of all definitions
--       9 incarnation ('': the bucket isn't created over the API)
-- Result  { 'defined', its state, its next tick in ms (-1: none) } | { 'changed' }: the schedule has another version
--         | { 'full' } | { 'gone' }: the bucket was deleted, or created again
local SCHEDULES, NEXT, STATES, TALLY, CONTROL = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, known, version, definition, paused = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local next_tick, most, most_bytes = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])

if is_deleted(CONTROL, ARGV[9]) then return { 'gone' } end
local state = read_schedule(STATES, id)
if (state and state.version or '') ~= known then return { 'changed' } end
local count = redis.call('HLEN', SCHEDULES)
local counted = redis.call('HGET', TALLY, 'schedules_bytes')
local bytes = count > 0 and tonumber(counted or nil) or 0
local before = redis.call('HSTRLEN', SCHEDULES, id)
if before == 0 and count >= most or bytes - before + #definition > most_bytes then return { 'full' } end

-- Fails before the first write if the key has another type: a definition without its tick would never get a job.
local next_then = redis.call('ZSCORE', NEXT, id) or '-1'
state = state or { last = '-', job = '-', missed = '0', overlapped = '0' }
state.version, state.paused, state.reason = version, paused, '-'
check_granted(NEXT, 'ZADD', 'ZREM')
-- First a write that Redis refuses at maxmemory, so that nothing was changed then.
redis.call('HSET', SCHEDULES, id, definition)
if paused == '1' then next_tick = -1 end
if next_tick then
  next_then = whole(next_tick)
  set_next(NEXT, id, next_tick)
end
redis.call('HSET', TALLY, 'schedules_bytes', whole(bytes - before + #definition))
write_schedule(STATES, id, state)
-- Answers the state, because others may change it before the caller could read it.
return { 'defined', schedule_text(state), next_then }
