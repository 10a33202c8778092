-- Stream kind: the replicas that take jobs are consumers of the group `processors`, and their claimed jobs are pending.
-- needs: constants, notices, kind/held, kind/put_back

-- Creates the group if it doesn't exist, as after DEL or FLUSHALL. It begins with the first entry of the stream.
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

-- Only for a consumer without pending jobs: Redis would drop those from the pending list, and never deliver them again.
local function remove_consumer(jobs, consumer)
  redis.pcall('XGROUP', 'DELCONSUMER', jobs, GROUP, consumer)
end

-- Up to `most` claimed jobs of a consumer: { job, deliveries }…; and the next cursor, '' at the end.
local function held_by(keys, consumer, most, place)
  local from = place == '' and '-' or '(' .. place
  local pending = redis.pcall('XPENDING', keys.jobs, GROUP, from, '+', most, consumer)
  local held = {}
  -- An error means that there is no stream or no group, so nothing is claimed.
  for i, job in ipairs(pending.err and {} or pending) do held[i] = { job[1], job[4] } end
  return held, #held < most and '' or held[most][1]
end

-- Parks a claimed job for `wait` ms, by default 0. Returns false if the job doesn't exist.
local function release(keys, id, deliveries, wait)
  local is_there = park(keys, id, wait or 0, deliveries)
  if is_there and (wait or 0) == 0 then publish_jobs(keys.notices) end
  return is_there
end

-- Whether takes separate suspects (suspects.lua).
local keeps_suspects_apart = true

local function failures_of(id)
  return tonumber(redis.call('HGET', ATTEMPTS, id) or nil) or 0
end
