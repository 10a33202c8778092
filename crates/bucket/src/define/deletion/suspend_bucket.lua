-- Suspends a bucket before its deletion: from now on it neither admits jobs nor hands them out, until a later
-- definition opens it again. If jobs are in the way, nothing changes.
--
-- needs: at_maxmemory, now, closed, count_any_kind, count_in_flight
-- KEYS  1 jobs  2 control (hash)  3 takers of a list (hash)  4 tally (hash)
-- ARGV  1 incarnation  2 the version of its definition  3 '1': only jobs in flight are in the way, '': all jobs are
--       4 the new version of the settings in force
-- Result  { 'suspended', 0, last } | { 'jobs', number of jobs in the way, last } | { 'changed', 0, '' }: the bucket is
--         suspended for a later definition | { 'gone', 0, '' }: there is a later incarnation.
--         last: the last job that a purge cancels (purge.lua), '' without jobs
local JOBS, CONTROL, TAKERS, TALLY = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local incarnation, definition, is_purged, version = ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4]

local function last_job(jobs)
  if jobs == 0 then return '' end
  local newest = redis.pcall('XREVRANGE', JOBS, '+', '-', 'COUNT', 1)
  if newest[1] then return newest[1][1] end
  local length = redis.pcall('LLEN', JOBS)
  return (redis.call('HGET', TALLY, 'last_id') or '0-0') .. ' ' .. (type(length) == 'number' and length or 0)
end

local state = redis.call('HMGET', CONTROL, 'incarnation', 'closed')
if state[1] and tonumber(state[1]) > tonumber(incarnation) then return { 'gone', 0, '' } end
local closed = state[1] == incarnation and state[2]
if closed and tonumber(closed) > tonumber(definition) then return { 'changed', 0, '' } end
local jobs = count_any_kind(JOBS, TAKERS)
local last = last_job(jobs)
local in_the_way = is_purged and math.min(jobs, count_in_flight(JOBS, TAKERS)) or jobs
if in_the_way > 0 then return { 'jobs', in_the_way, last } end
if closed ~= CLOSED then
  if state[1] ~= incarnation then redis.call('DEL', CONTROL) end
  redis.call(
    'HSET', CONTROL, 'incarnation', incarnation, 'closed', definition, 'suspended', whole(now_ms), 'version', version
  )
end
return { 'suspended', 0, last }
