-- Stream kind: those who take jobs. They are the consumers of the group `processors`, which begins at 0; a job that one
-- holds is pending for it.
-- needs: constants, notices, kind/held, kind/put_back

-- The group may be gone with its stream (DEL, FLUSHALL): it starts again with all that is there.
local function make_group(jobs)
  if redis.pcall('XPENDING', jobs, GROUP).err then
    redis.call('XGROUP', 'CREATE', jobs, GROUP, '0', 'MKSTREAM')
  end
end

local function add_consumer(jobs, consumer)
  make_group(jobs)
  redis.call('XGROUP', 'CREATECONSUMER', jobs, GROUP, consumer)
end

local function consumers_of(jobs)
  local names = {}
  local consumers = redis.pcall('XINFO', 'CONSUMERS', jobs, GROUP)
  for _, info in ipairs(consumers.err and {} or consumers) do
    for i = 1, #info, 2 do
      if info[i] == 'name' then names[#names + 1] = info[i + 1] end
    end
  end
  return names
end

-- Only for one that holds nothing: what it had would stay behind, delivered to nobody for ever.
local function remove_consumer(jobs, consumer)
  redis.pcall('XGROUP', 'DELCONSUMER', jobs, GROUP, consumer)
end

-- Up to `most` of what a consumer holds: { job, times it was handed out }…; and where to go on, '' at the end.
local function held_by(keys, consumer, most, place)
  local from = place == '' and '-' or '(' .. place
  local pending = redis.pcall('XPENDING', keys.jobs, GROUP, from, '+', most, consumer)
  local held = {}
  -- No stream, no group: nothing is claimed.
  for i, job in ipairs(pending.err and {} or pending) do held[i] = { job[1], job[4] } end
  return held, #held < most and '' or held[most][1]
end

-- Due for any replica, at once or after `wait` ms; false for a job that isn't there.
local function release(keys, id, deliveries, wait)
  local is_there = park(keys, id, wait or 0, deliveries)
  if is_there and (wait or 0) == 0 then publish_jobs(keys.notices) end
  return is_there
end

-- Whether a take looks for jobs that may kill their replica (suspects.lua).
local keeps_suspects_apart = true

local function failures_of(id)
  return tonumber(redis.call('HGET', ATTEMPTS, id) or nil) or 0
end
