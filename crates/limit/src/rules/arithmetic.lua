-- The rules of limits, to be joined into a script. What they need of who joins them: a fragment `now` that sets
-- `now_us`, the Redis clock in whole µs, read once per script. What they give: limit_check, limit_charge, limit_report
-- and limit_flush; other files add limit_refund, limit_release, limit_room and limit_spend. All their names begin with
-- `limit_`.
--
-- All numbers are whole and below 2^53, where Lua's doubles are exact: who packs a plan has seen to that.
--
-- Each run of a script makes its functions and tables again, and pays for each. So rules are made of the kinds in use
-- alone, what is seldom needed stands apart, and lists that grow have room from the start.
local limit_pack, limit_unpack = struct.pack, struct.unpack

-- Thousandths of their rate at which the tiers that are being read go.
local limit_speed = 1000

-- For a pace, whose calls are made some time after they are granted; all 0 elsewhere. `limit_late`: within how many µs
-- a grant must be used, or never. `limit_undrained`: for how many of them a bucket doesn't drain what is granted; for
-- the rest its burst keeps room. `limit_unsent`: µs of the clock until which earlier grants may still be used.
-- `limit_ahead`: how many µs before its time a bucket grants a call, which then waits for that time.
local limit_late, limit_undrained, limit_unsent, limit_ahead = 0, 0, 0, 0

-- Of large numbers, `%` may be as little as -1 where the quotient was rounded up to a whole number.
local function limit_div_up(a, b)
  local rest = a % b
  local quotient = (a - rest) / b
  if rest > 0 then return quotient + 1 end
  return quotient
end

local function limit_div_down(a, b)
  local rest = a % b
  local quotient = (a - rest) / b
  if rest < 0 then return quotient - 1 end
  return quotient
end
