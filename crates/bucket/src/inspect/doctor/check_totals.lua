-- Reads the totals of a bucket at one moment. Corrects byte and caller counts if asked to, unless a job was added or
-- removed since the jobs were counted. Writes off lost jobs if asked to: they are added to `lost`.
--
-- needs: at_maxmemory, now, counts, kind/jobs
-- KEYS  1 jobs  2 tally (hash)  3 holders (hash)  4 a list's takers (hash)
-- ARGV  1 the moment at which the jobs were counted ('': only read)
--       2 their bytes ('': leave the byte count)  3 '1' to write off lost jobs
--       then pairs: a field of `holders` (counts.lua), and what to add to it
-- Result  { this moment: a text that changes when a job is added, removed or, in a list, moved; the byte count,
--           number of lost jobs, 1 if the moment of the count is still this one }
local JOBS, TALLY, HOLDERS = KEYS[1], KEYS[2], KEYS[3]
local counted_at, bytes, writes_off = ARGV[1], ARGV[2], ARGV[3] == '1'
local level, held = count_jobs(JOBS)
local counts = redis.call('HMGET', TALLY, 'accepted', 'delivered', 'dead', 'expired', 'cancelled', 'bytes', 'lost')
local ended, moment = 0, KEYS[4] and whole(level) .. ' ' .. whole(held) or ''
for i = 1, 5 do
  counts[i] = tonumber(counts[i] or nil) or 0
  moment = moment .. ' ' .. whole(counts[i])
  if i > 1 then ended = ended + counts[i] end
end

local unchanged = moment == counted_at
if unchanged then
  if bytes ~= '' then redis.call('HSET', TALLY, 'bytes', bytes) end
  for i = 4, #ARGV, 2 do
    if count_up(HOLDERS, ARGV[i], ARGV[i + 1]) < 1 then redis.call('HDEL', HOLDERS, ARGV[i]) end
  end
end
local lost = math.max(0, counts[1] - ended - level - (tonumber(counts[7] or nil) or 0))
if writes_off and lost > 0 then count_up(TALLY, 'lost', lost) end
return { moment, tonumber(counts[6] or nil) or 0, lost, unchanged and 1 or 0 }
