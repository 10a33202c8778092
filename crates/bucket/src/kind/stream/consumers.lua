-- Stream kind: those who take jobs are the consumers of the group `processors`, which begins at 0.
-- needs: constants

-- The group may be gone with its stream (DEL, FLUSHALL): it starts again with all that is there.
local function make_group(jobs)
  if redis.pcall('XPENDING', jobs, GROUP).err then
    redis.call('XGROUP', 'CREATE', jobs, GROUP, '0', 'MKSTREAM')
  end
end

local function enroll(jobs, consumer)
  make_group(jobs)
  redis.call('XGROUP', 'CREATECONSUMER', jobs, GROUP, consumer)
end

local function enrolled(jobs)
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
local function dismiss(jobs, consumer)
  redis.pcall('XGROUP', 'DELCONSUMER', jobs, GROUP, consumer)
end
