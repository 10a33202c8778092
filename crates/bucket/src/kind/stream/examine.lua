-- Checks a part of the stream and of its pending list for jobs that no take would find, and repairs them if asked to.
--
-- needs: at_maxmemory, budget, kind/entry, kind/pending, kind/flow_state, kind/flows, kind/in_range, kind/leave_flows
-- KEYS  1 jobs (stream)  2 replicas (hash)  3 pace (hash)  4 notices (zset), then throttled (zset), flow-state (hash),
--       parked (zset), flows (zset), ranges (zset)
-- ARGV  1 the id after which to begin ('' for the first)  2 '1' to repair
-- Result  { the id after which to go on or '' at the end, { finding, an example }…, { id, bytes that it counts, caller
--       or '' }… }
local JOBS, REPLICAS, PACE, NOTICES, PARKED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[#KEYS - 2]
local after, is_repair = ARGV[1], ARGV[2] == '1'
-- The maximum per call, so that a long stream doesn't block Redis: finding the range of a job takes some 20 commands.
local LOOKED_AT = 50

local answer = { '' }
local function found(finding, example)
  answer[#answer + 1] = { finding, example }
end

local function park(id, due_ms)
  redis.call('XCLAIM', JOBS, GROUP, PARKED_OWNER, 0, id, 'RETRYCOUNT', 0, 'FORCE', 'JUSTID')
  redis.call('ZADD', PARKED, whole(math.max(now_ms, due_ms)), id)
end

-- Whether calls in flight are counted by caller.
local is_counted = redis.call('HGET', PACE, 'flows') == '1'

local from = after == '' and '-' or '(' .. after
local delivered = last_delivered(JOBS)
local pending = pending_jobs(JOBS, from, '+', LOOKED_AT)
-- The part ends where the page of the pending list ends.
local to = #pending == LOOKED_AT and pending[#pending][1] or '+'
local owners = {}
for _, held in ipairs(pending) do owners[held[1]] = held[2] end

local present, flows, next, last = {}, {}, from, nil
local ended = false
for _ = 1, LOOKED_AT do
  if not may_read() then break end
  local entry = first_entry(JOBS, next, to)
  if not entry then
    ended = true
    break
  end
  local id = entry[1]
  count_read(entry[2])
  -- A delayed job isn't called before its delay is over, even if its due time in `parked` was lost.
  present[id], last, next = tonumber(field(entry[2], 'due')) or 0, id, '(' .. id
  flows[id] = flow_of_entry(entry[2])
  answer[#answer + 1] = { id, counted_bytes(entry[2]), caller_of(entry[2]) or '' }
  if delivered and not owners[id] and not is_after(id, delivered) and not is_in_range(id, flows[id]) then
    found('stranded', id)
    if is_repair then park(id, present[id]) end
  end
end
if ended then last = to ~= '+' and to or nil end

for _, held in ipairs(pending) do
  local id, owner = held[1], held[2]
  if not last or not is_after(id, last) then
    if not present[id] then
      found('phantom', id)
      if is_repair then
        redis.call('XACK', JOBS, GROUP, id)
        leave_flows({ id }, NOTICES)
      end
    elseif owner == PARKED_OWNER and not redis.call('ZSCORE', PARKED, id) and not waits_again(id, flows[id]) then
      found('never_due', id)
      if is_repair then redis.call('ZADD', PARKED, whole(math.max(now_ms, present[id])), id) end
    elseif owner ~= PARKED_OWNER and redis.call('HEXISTS', REPLICAS, owner) == 0 then
      found('held_by_no_member', id)
      if is_repair then
        park(id, present[id])
        leave_flows({ id }, NOTICES)
      end
    elseif owner ~= PARKED_OWNER and is_counted and redis.call('HEXISTS', flow_state.hash, id) == 0 then
      found('calls_miscounted', id)
      -- Without the clock, the next take counts all calls in flight again (bounds.lua).
      if is_repair then redis.call('HDEL', flow_state.hash, 'clock') end
    end
  end
end
answer[1] = last or ''
return answer
