-- List kind: searches a list element by element, a bounded part in each script.
-- needs: now, budget, kind/entry

-- The maximum of elements in one call, so that a long list doesn't block Redis.
local LOOKED_AT = 200

-- Calls look(element) for the elements from index `at` on, from the head, where the newest is, until it returns true or
-- the script may read no more. Returns the next index, or -1 at the end.
local function look_through(list, at, look)
  for next = at, at + LOOKED_AT - 1 do
    if not may_read() then return next end
    local element = redis.call('LINDEX', list, next)
    if not element then return -1 end
    count_read(element)
    if look(element) then return -1 end
  end
  return at + LOOKED_AT
end

-- Removes the elements at these indices, and returns their number. Marks them first and removes all by one LREM, which
-- searches the list from the head on.
local function remove_at(list, places)
  if #places == 0 then return 0 end
  local MARK = '\0gone'
  for _, place in ipairs(places) do redis.call('LSET', list, place, MARK) end
  return redis.call('LREM', list, #places, MARK)
end

-- Jobs that have ended so far. This many may have been removed from the middle of a list.
local function ended_so_far(tally)
  local ended = 0
  for _, count in ipairs(redis.call('HMGET', tally, 'delivered', 'dead', 'expired', 'cancelled')) do
    ended = ended + (tonumber(count) or 0)
  end
  return whole(ended)
end

-- { id, state, failed attempts, due in ms or '', caller, consumer or '', '', '' }. `owner`: the consumer that has
-- claimed it, or ''. Jobs of a list have no priority and no group.
local function view(element, owner)
  local caller = caller_of(entry_of(nil, element))
  return { read_head(element).id, owner ~= '' and 'in_flight' or 'waiting', 0, '', caller or '', owner, '', '' }
end
