-- List kind: those who take jobs, and how many each holds now: the hash `takers`, the last of KEYS.
local TAKERS = KEYS[#KEYS]

local function enroll(_, consumer)
  redis.call('HSETNX', TAKERS, consumer, 0)
end

local function enrolled(_)
  return redis.call('HKEYS', TAKERS)
end

local function dismiss(_, consumer)
  redis.call('HDEL', TAKERS, consumer)
end
