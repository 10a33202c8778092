-- List kind: claimed jobs. Each replica has a list of its claimed elements, the latest at its head, and the hash
-- `takers` has their numbers. Scripts identify a job by its element.
--
-- Elements are removed from one list before they are added to another, instead of with LMOVE: at maxmemory a script may
-- continue after a write that needs no memory.
-- needs: kind/jobs

-- The list of a replica comes before `takers` in KEYS, and its name is the first of ARGV.
local TAKEN, HOLDER = KEYS[#KEYS - 1], ARGV[1]

-- A list bucket has no such keys.
local function held_keys() end

-- Called by check_types in record.lua.
local function check_held()
  redis.call('LLEN', TAKEN)
  redis.call('HLEN', TAKERS)
end

-- Returns the same as that of a stream.
local function ack_and_delete(_, elements)
  local absent
  for i, element in ipairs(elements) do
    if redis.call('LREM', TAKEN, '-1', element) == 0 then
      absent = absent or {}
      absent[#absent + 1] = i
    end
  end
  redis.call('HSET', TAKERS, HOLDER, redis.call('LLEN', TAKEN))
  return absent
end
