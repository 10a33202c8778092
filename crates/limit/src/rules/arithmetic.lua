-- The rules of limits, which scripts include. A script must provide the fragment `now`, which sets `now_us`, the Redis
-- clock in whole µs, read once per script. The rules provide limit_check, limit_charge, limit_report and limit_flush;
-- other files add limit_refund, limit_release, limit_room and limit_spend. All their names begin with `limit_`.
--
-- All numbers are integers below 2^53, which Lua's doubles represent exactly; the code that packs plans ensures that.
--
-- Each call of a script creates its functions and tables again, which costs time. So rules are only created for the
-- kinds in use, rarely needed functions are created on demand, and tables that grow are allocated with room.
local limit_pack, limit_unpack = struct.pack, struct.unpack

-- The speed of the tiers that are being read, in thousandths of their rate.
local limit_speed = 1000

-- For a pace, whose calls are made some time after they are granted; otherwise all 0. `limit_late`: the µs within which
-- a grant must be used. `limit_undrained`: for how many of these µs a bucket doesn't drain what is granted; for the
-- rest its burst keeps room. `limit_unsent`: until when, in µs of the clock, earlier grants may still be used.
-- `limit_ahead`: how many µs before its time a bucket grants a call, which then waits for that time.
local limit_late, limit_undrained, limit_unsent, limit_ahead = 0, 0, 0, 0

-- With large numbers `%` may return down to -1, if the quotient was rounded up to an integer.
local function limit_div_ceil(a, b)
  local rest = a % b
  local quotient = (a - rest) / b
  if rest > 0 then return quotient + 1 end
  return quotient
end

local function limit_div_floor(a, b)
  local rest = a % b
  local quotient = (a - rest) / b
  if rest < 0 then return quotient - 1 end
  return quotient
end
