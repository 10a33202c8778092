-- How many jobs of the bucket each caller holds: hash `holders`, caller → jobs; who holds none isn't there. A job
-- without a caller is nobody's, nor is one that counts no bytes: somebody added it by hand.
local held_more = {}

-- `jobs` more for a caller, or less.
local function count_held(caller, jobs)
  if caller and caller ~= '' then held_more[caller] = (held_more[caller] or 0) + jobs end
end

-- To be called once, last: one write for each caller, however many jobs.
local function write_holders(holders)
  for caller, jobs in pairs(held_more) do
    if jobs ~= 0 and redis.call('HINCRBY', holders, caller, jobs) < 1 then redis.call('HDEL', holders, caller) end
  end
end
