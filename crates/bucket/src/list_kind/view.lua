-- List kind: a list can't be asked for a job, so its elements are looked at one after the other, a chunk at a time.
local CHUNK = 100

-- Calls look(element) from the oldest on until it answers something, and returns that.
local function look_through(list, look)
  for last = -1, -redis.call('LLEN', list), -CHUNK do
    local elements = redis.call('LRANGE', list, last - CHUNK + 1, last)
    for i = #elements, 1, -1 do
      local answer = look(elements[i])
      if answer then return answer end
    end
  end
end

-- { id, state, failed attempts, due in ms or '', caller, consumer or '' }. `owner` is the consumer that holds it, or nil.
local function view(element, owner)
  local caller = caller_of(entry_of(nil, element))
  return { read_head(element).id, owner and 'in_flight' or 'waiting', 0, '', caller or '', owner or '' }
end

-- The lists of who holds jobs, as passed: { list, consumer }…; nil when others hold jobs by now.
-- KEYS 2… the lists, the last: takers (hash). The last of ARGV, as many: their consumers.
local function taken_lists()
  local lists = {}
  local many = #KEYS - 2
  if redis.call('HLEN', KEYS[#KEYS]) ~= many then return nil end
  for i = 1, many do
    local consumer = ARGV[#ARGV - many + i]
    if redis.call('HEXISTS', KEYS[#KEYS], consumer) == 0 then return nil end
    lists[i] = { KEYS[1 + i], consumer }
  end
  return lists
end
