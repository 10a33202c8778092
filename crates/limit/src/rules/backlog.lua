-- `backlog`: the length of a queue, which isn't our state. The script that includes the rules tells it: `queue` has `length`,
-- and `wait(excess)`, the µs until so many have left.
limit_kinds[8] = function()
  local rule
  rule = {
    fill = limit_nothing, convert = limit_nothing, shift = limit_nothing, advance = limit_nothing,
    charge = limit_nothing, refund = limit_nothing,
    refill = function() return math.huge end,

    tier = function(text, at)
      local limit
      limit, at = limit_unpack('<I7', text, at)
      return { rule = rule, limit = limit, period = 0, length = 0, waits = 0 }, at
    end,

    read = function(_, _, at)
      return at + 1, 0
    end,

    write = function()
      return string.char(8)
    end,

    wait = function(tier, _, n, queue)
      tier.length = queue.length
      if n > tier.limit then return -1 end
      local excess = queue.length + n - tier.limit
      if excess <= 0 then return 0 end
      return math.max(1, queue.wait(excess))
    end,

    left = function(tier)
      return math.max(0, tier.limit - tier.length), 0
    end,
  }
  return rule
end
