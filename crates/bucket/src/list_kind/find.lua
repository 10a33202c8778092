-- Finds a job that is still in the bucket: O(level).
--
-- KEYS  1 jobs (list)  2… the list of each taker, then takers (hash)
-- ARGV  1 id, then the takers
-- Result  {} | { id, state, failed attempts, due in ms or '', caller, consumer or '' } | nil: others take by now, ask again
local lists = taken_lists()
if not lists then return false end

local start = '{"id":"' .. ARGV[1] .. '",'
local function look(element)
  return string.sub(element, 1, #start) == start and element
end

for _, list in ipairs(lists) do
  local element = look_through(list[1], look)
  if element then return view(element, list[2]) end
end
local element = look_through(KEYS[1], look)
return element and view(element) or {}
