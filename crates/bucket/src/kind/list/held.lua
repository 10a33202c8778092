-- List kind: jobs that are claimed. The hash `takers` has how many each replica holds; a job that one holds is an
-- element of its own list, the latest at its head. Scripts are given the element.
--
-- What takes from a list comes before what adds to one: at maxmemory a script may go on once it has written something
-- that needs no memory. That is why nothing here is an LMOVE.
-- needs: kind/jobs

-- Before `takers` in KEYS, and the first of ARGV, where a script is given what a replica holds.
local TAKEN, HOLDER = KEYS[#KEYS - 1], ARGV[1]

-- As of a stream: there is nothing.
local function held_keys() end

-- As check_types in record.lua.
local function check_held()
  redis.call('LLEN', TAKEN)
  redis.call('HLEN', TAKERS)
end

local function ack_and_delete(_, elements)
  for _, element in ipairs(elements) do redis.call('LREM', TAKEN, '-1', element) end
  redis.call('HSET', TAKERS, HOLDER, redis.call('LLEN', TAKEN))
end
