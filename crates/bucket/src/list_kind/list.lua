-- Lists jobs that are in the bucket, in the order of their ids: O(level). What somebody else has put there has no id, and is
-- not shown, until a replica takes it.
--
-- KEYS  1 jobs (list)  2… the list of each taker, then takers (hash)
-- ARGV  1 the id after which to begin ('' for the first)  2 the most jobs  3 a state, or '' for all, then the takers
-- Result  { the last id that was looked at or '' at the end, job… as in find.lua } | nil: others take by now, ask again
local lists = taken_lists()
if not lists then return false end

local most, state = math.max(1, tonumber(ARGV[2])), ARGV[3]
local after = read_head('{"id":"' .. ARGV[1] .. '",') or { ms = -1, seq = -1 }

-- The first `most` so far; `found` may grow to twice that before it is sorted again. Nothing after `bound` is among them.
local found, more, bound = {}, false, { ms = math.huge, seq = 0 }
local function keep_first()
  table.sort(found, function(a, b) return comes_after(b.head, a.head) end)
  if #found <= most then return end
  more, bound = true, found[most].head
  for i = #found, most + 1, -1 do found[i] = nil end
end

local function collect(list, owner)
  look_through(list, function(element)
    -- Most are ruled out at the first glance.
    local ms = tonumber(string.match(element, '^{"id":"(%d+)%-'))
    if not ms or ms > bound.ms or ms < after.ms then return end
    local head = read_head(element)
    if head and comes_after(head, after) and comes_after(bound, head) then
      found[#found + 1] = { head = head, element = element, owner = owner }
      if #found == 2 * most then keep_first() end
    end
  end)
end

if state == '' or state == 'in_flight' then
  for _, list in ipairs(lists) do collect(list[1], list[2]) end
end
if state == '' or state == 'waiting' then collect(KEYS[1]) end
keep_first()

local jobs = { more and found[#found].head.id or '' }
for _, job in ipairs(found) do jobs[#jobs + 1] = view(job.element, job.owner) end
return jobs
