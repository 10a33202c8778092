-- Stream kind: what is known of callers, or groups, while some have a rate limit or a limit of concurrent calls. (Then
-- `flows` in the hash of the pace is '1'; 'counting' before; 'lost': what there was is gone.) Two keys:
--   throttled   zset: flow → µs of the clock below at which it may be called again. Meanwhile it isn't among `flows`
--   flow-state  hash, with
--     clock     `now wall print lost`: µs of a clock that runs no faster than time passes, whatever becomes of the
--               Redis clock, which said `wall` then; of which settings; since when a caller that nothing is known of
--               has earned its burst (0: always)
--     there     of the last take: `1` or `0`, whether anybody was in `flows`, and the same of `throttled`. So it shows
--               that somebody deleted one of them;  came: 1 when others came into `flows` since
--     sorted    also where nobody has such limits: jobs of a caller that was the only one were sorted in, unread, and
--               not all that waited has been called since
--     called<rank>  also where nobody has such limits: the virtual time at which a flow of this rank was called last
--     <number>  of a caller's normal flow, for all its priorities → its state, as `read` reads it
--     <job>     → that flow, `number name`, of each job in flight
-- A state goes when nothing is in flight, the burst is whole again, and no flow of it is throttled: it knows when that
-- had its last turn (leave_flows.lua, bound_states.lua).

-- `is_in_force`: some may be throttled; `is_take`: and this is a take; `has_lost`: somebody deleted those who wait, or
-- who are throttled; `back`: the numbers of those who were throttled until this take; `noted`: of each priority, how
-- many jobs this script has found to wait; others add functions.
local flow_state = {
  throttled = KEYS[#KEYS - 4], hash = KEYS[#KEYS - 3],
  -- How many numbers the flows of one priority have.
  numbers = 2 ^ 45,
  back = {}, noted = { [0] = 0, 0, 0 },
}

-- What is noted of the clock: { now, wall, print, lost } as above; nil: nothing that can be read. And its text.
function flow_state.read_clock()
  local text = redis.call('HGET', flow_state.hash, 'clock')
  local now, wall, print, lost = string.match(text or '', '^(%d+) (%d+) (%x+) (%d+)$')
  if not now then return nil, text end
  return { now = tonumber(now), wall = tonumber(wall), print = print, lost = tonumber(lost) }, text
end

-- { in_flight, debts: of each of its rates, the calls that haven't drained, at: the clock at which they were counted,
-- full: the clock at which all will have drained, waits: whether it is throttled until one of its calls ends, out:
-- text, of each rank whose flow is throttled ` rank:its virtual time:when a newcomer began then` }; nil for another
-- text. Debts but the first stand before `out` as ` t:debt:debt`, where a version without tiers keeps them unread.
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

-- Whether what is known of a caller is the same as of one that was never called.
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

-- Whether somebody was in `flows` at the end of the last take, or came since; and in `throttled`.
function flow_state.were_there()
  local found = redis.call('HMGET', flow_state.hash, 'there', 'came')
  local there = found[1] or '00'
  return found[2] or string.sub(there, 1, 1) == '1', string.sub(there, 2, 2) == '1'
end

-- Nobody is in `flows` any more, and nobody deleted them.
function flow_state.note_none_there()
  local there = redis.call('HGET', flow_state.hash, 'there')
  if there then redis.call('HSET', flow_state.hash, 'there', '0' .. string.sub(there, 2)) end
end

-- Notes that what waits is sorted in from now on. False: it was before, and those who wait were deleted.
function flow_state.begins()
  return redis.call('HSETNX', flow_state.hash, 'sorted', 1) == 1
end

-- A take notes at its end who is there.
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
