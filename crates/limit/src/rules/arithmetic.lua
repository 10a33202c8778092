-- The rules of limits, to be joined into a script. What they need from before: `now_us`, the Redis clock in whole µs, read
-- once per script. What they give: limit_check, limit_charge, limit_report and limit_flush; other files add limit_refund,
-- limit_release, limit_room and limit_spend. All their names begin with `limit_`.
--
-- All numbers are whole and below 2^53, where Lua's doubles are exact: who packs a plan has seen to that.
--
-- A tier is a table of its settings, from a plan, and its state, from the scope's key. What its kind's rule can do:
--   tier(text, at)             makes the tier from a plan, with the state of a scope that was never seen
--   refill(tier)               µs from nothing left to all left
--   read(tier, packed, at)     also tells the period it was written for
--   write(tier)
--   convert(tier, old, was)    the state from another setting of the same kind: what was consumed stays consumed
--   fill(tier, now)            nothing is left
--   shift(tier, by)            moves the times it holds
--   advance(tier, last, now)   lets the time from `last` to `now` pass
--   wait(tier, now, n, queue)  µs until `n` would pass; 0: now; -1: never
--   charge(tier, now, n, id), refund(tier, now, n, id)
--   left(tier, now)            how many would pass now, and the µs until all is left again
-- By code, what makes a rule: only the kinds in use are made, since each function costs time in each run. So does each table
-- that grows: those that are filled later have room from the start.
local limit_kinds = { nil, nil, nil, nil, nil, nil, nil, nil }

local limit_pack, limit_unpack, limit_floor = struct.pack, struct.unpack, math.floor

local function limit_div_up(a, b)
  local quotient = limit_floor(a / b)
  if quotient * b < a then return quotient + 1 end
  return quotient
end

local function limit_div_down(a, b)
  local quotient = limit_floor(a / b)
  if quotient * b > a then return quotient - 1 end
  return quotient
end

local function limit_nothing()
end
