-- Lists jobs that are in the stream, oldest first.
--
-- KEYS  1 jobs (stream)  2 parked (zset)  3 attempts (hash)
-- ARGV  1 the id after which to begin ('' for the first)  2 the most entries to look at  3 a state, or '' for all
-- Result  { the last id that was looked at or '' at the end, job… as in find.lua }
local JOBS = KEYS[1]
local keys = { parked = KEYS[2], attempts = KEYS[3] }
local from = ARGV[1] == '' and '-' or '(' .. ARGV[1]
local most = tonumber(ARGV[2])

local found = redis.call('XRANGE', JOBS, from, '+', 'COUNT', most)
if #found == 0 then return { '' } end
local owners = {}
local pending = redis.pcall('XPENDING', JOBS, 'processors', found[1][1], found[#found][1], #found)
for _, held in ipairs(pending.err and {} or pending) do owners[held[1]] = held[2] end

local jobs = { #found == most and found[#found][1] or '' }
for _, job in ipairs(found) do
  local view = classify(keys, job[1], job[2], owners[job[1]])
  if ARGV[3] == '' or view[2] == ARGV[3] then jobs[#jobs + 1] = view end
end
return jobs
