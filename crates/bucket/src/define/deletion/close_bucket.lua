-- Closes an incarnation of a bucket that has no jobs: it admits no jobs from now on, and no definition opens it again.
--
-- needs: at_maxmemory, closed, count_any_kind
-- KEYS  1 jobs  2 control (hash)  3 audit (stream)  4 takers of a list (hash)  5 replicas (hash)
--       6 members (hash)
-- ARGV  1 incarnation  2 the new version of the settings in force  3 ms for which the closed bucket is remembered
-- Result  { 'closed', 0 } | { 'jobs', number of jobs } | { 'gone', 0 }: there is a later incarnation
local JOBS, CONTROL, AUDIT, TAKERS, REPLICAS, MEMBERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local incarnation, version, ttl = ARGV[1], ARGV[2], ARGV[3]

local state = redis.call('HMGET', CONTROL, 'incarnation', 'closed')
if state[1] and tonumber(state[1]) > tonumber(incarnation) then return { 'gone', 0 } end
local jobs = count_any_kind(JOBS, TAKERS)
if jobs > 0 then return { 'jobs', jobs } end
redis.call('DEL', CONTROL)
redis.call('HSET', CONTROL, 'incarnation', incarnation, 'closed', CLOSED, 'version', version)
redis.call('PEXPIRE', CONTROL, ttl)
redis.call('PEXPIRE', AUDIT, ttl)
-- The members leave when they learn of the deletion. Until then their keys are kept.
redis.call('PEXPIRE', REPLICAS, ttl)
redis.call('PEXPIRE', MEMBERS, ttl)
return { 'closed', 0 }
