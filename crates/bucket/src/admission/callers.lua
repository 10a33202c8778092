-- What each caller has in the bucket: hash `holders`, caller → jobs, and `<caller> bytes` → their bytes (no caller has
-- a space in it), each only while there are some. A job without a caller is nobody's, nor is one that counts no bytes:
-- somebody added it by hand.
-- needs: now
local held_more = {}

-- Jobs and bytes more for a caller, or less.
local function count_held(caller, jobs, bytes)
  if not caller or caller == '' then return end
  local more = held_more[caller] or { jobs = 0, bytes = 0 }
  more.jobs, more.bytes = more.jobs + jobs, more.bytes + bytes
  held_more[caller] = more
end

local function bytes_of(caller)
  return caller .. ' bytes'
end

local function add_held(holders, field, more)
  if more ~= 0 and redis.call('HINCRBY', holders, field, whole(more)) < 1 then redis.call('HDEL', holders, field) end
end

-- To be called once, last: two writes for each caller, however many jobs.
local function write_holders(holders)
  for caller, more in pairs(held_more) do
    add_held(holders, caller, more.jobs)
    add_held(holders, bytes_of(caller), more.bytes)
  end
end
