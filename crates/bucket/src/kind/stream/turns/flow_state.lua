-- Stream kind: the state of callers, or groups, while some have a rate limit or a limit of concurrent calls. (`flows`
-- in the hash of the pace is then '1'; 'counting' until calls in flight are counted; 'lost' without a state.) Keys:
--   throttled   zset: flow → µs of the clock below at which it may be called again. Until then it isn't in `flows`
--   flow-state  hash, with
--     clock     `now wall print lost`: µs of a clock that never runs faster than time passes, even if the Redis clock,
--               which was at `wall`, is set; a hash of the settings; since when a caller without a state has earned its
--               burst (0: always)
--     there     two digits, 1 or 0: whether the last take left members in `flows`, and in `throttled`. A missing key
--               that had members was deleted by hand;  came: 1 if others came into `flows` since
--     sorted    also without limits: the jobs of a bucket's only caller were sorted in unread, and not all that waited
--               were called since
--     called<rank>  also without limits: where newcomers of this rank begin, about the virtual time of its last call
--     <number>  number of a caller's normal flow → the caller's state for all priorities, as `read` reads it
--     <job>     job in flight → the normal flow of its caller, `number name`
-- A state is removed when no call is in flight, all debts have drained, and none of its flows is throttled, as it
-- stores their last virtual times (leave_flows.lua, bound_states.lua).

-- `is_in_force`: whether flows may be throttled; `is_take`: whether this is a take with limits; `has_lost`: whether
-- somebody deleted `flows` or `throttled`; `back`: the numbers of callers that were throttled until this take; `noted`:
-- by rank, how many waiting jobs this script has added to flows. Other files add functions.
local flow_state = {
  throttled = KEYS[#KEYS - 4], hash = KEYS[#KEYS - 3],
  -- How many flow numbers a priority has.
  numbers = 2 ^ 45,
  back = {}, noted = { [0] = 0, 0, 0 },
}

-- The stored clock, { now, wall, print, lost } as above, or nil if it is missing or malformed; and its text.
function flow_state.read_clock()
  local text = redis.call('HGET', flow_state.hash, 'clock')
  local now, wall, print, lost = string.match(text or '', '^(%d+) (%d+) (%x+) (%d+)$')
  if not now then return nil, text end
  return { now = tonumber(now), wall = tonumber(wall), print = print, lost = tonumber(lost) }, text
end

-- Parses a state: { in_flight, debts: by rate, at: the clock at which these were computed, full: the clock at which all
-- will have drained, waits: whether the caller is throttled until one of its calls ends, out: text, for each rank whose
-- flow is throttled ` rank:its virtual time:the time of a newcomer then` }; nil if malformed. Debts after the first are
-- written before `out` as ` t:debt:debt`: versions without tiers keep them as a part of `out`.
function flow_state.read(text)
  local in_flight, debt, at, full, waits, out = string.match(text or '', '^(%d+) (%S+) (%d+) (%d+) ([01])(.*)$')
  if not in_flight then return nil end
  local debts, of_tiers = { tonumber(debt) or 0 }, nil
  if out ~= '' and string.sub(out, 1, 3) == ' t:' then
    of_tiers, out = string.match(out, '^ t:(%S*)(.*)$')
    for word in string.gmatch(of_tiers, '[^:]+') do debts[#debts + 1] = tonumber(word) or 0 end
  end
  return {
    in_flight = tonumber(in_flight), debts = debts, at = tonumber(at), full = tonumber(full), waits = waits == '1',
    out = out,
  }
end

-- Whether the state is the same as that of a caller that was never called.
function flow_state.is_spare(state, clock)
  return state.in_flight == 0 and state.full <= clock and state.out == ''
end

-- `out` without the flow of this rank.
function flow_state.without(out, rank)
  return (string.gsub(out, ' ' .. rank .. ':[^ ]+', ''))
end

function flow_state.rank_of(flow)
  return math.floor((flow.number - 1) / flow_state.numbers)
end

-- Whether `flows` had members at the end of the last take, or got some since; and whether `throttled` had.
function flow_state.were_there()
  local found = redis.call('HMGET', flow_state.hash, 'there', 'came')
  local there = found[1] or '00'
  return found[2] or string.sub(there, 1, 1) == '1', string.sub(there, 2, 2) == '1'
end

-- Notes that `flows` is empty, so that it doesn't seem to be deleted by hand.
function flow_state.note_none_there()
  local there = redis.call('HGET', flow_state.hash, 'there')
  if there then redis.call('HSET', flow_state.hash, 'there', '0' .. string.sub(there, 2)) end
end

-- Notes that waiting jobs are sorted in from now on. Returns false if they were before, so that `flows` was deleted.
function flow_state.begins()
  return redis.call('HSETNX', flow_state.hash, 'sorted', 1) == 1
end

-- Notes that flows came into `flows`. Not in a take, which notes that at its end.
function flow_state.note_newcomers()
  if flow_state.is_take or redis.call('HEXISTS', flow_state.hash, 'clock') == 0 then return end
  redis.call('HSET', flow_state.hash, 'came', 1)
end

function flow_state.text(state)
  local debts, of_tiers = state.debts, ''
  for i = 2, #debts do of_tiers = of_tiers .. string.format(i == 2 and ' t:%.17g' or ':%.17g', debts[i]) end
  local waits = state.waits and 1 or 0
  local words = string.format('%d %.17g %d %.0f %d', state.in_flight, debts[1] or 0, state.at, state.full, waits)
  return words .. of_tiers .. state.out
end
