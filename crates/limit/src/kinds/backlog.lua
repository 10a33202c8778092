-- `backlog`: the length of a queue. It isn't stored in the scope; the script that includes the rules passes it as
-- `queue`, with `length`, and `wait(excess)`, the µs until this many jobs have left the queue.
if code == BACKLOG then
  local rule
  rule = {
    -- The request adds one job to the queue, whatever its cost.
    charge = function(tier)
      tier.length = tier.length + 1
    end,

    tier = function(text, at)
      local limit
      limit, at = limit_unpack('<I7', text, at)
      return { rule = rule, limit = limit, period = 0, length = 0, waits = 0 }, at
    end,

    load = function(_, packed, from)
      return packed and from + 1 or from
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

    write = function()
      return string.char(BACKLOG)
    end,

    seldom = function()
      return {
        read = function(_, at)
          return {}, 0, at + 1
        end,

        convert = function() end,
        fill = function() end,
        shift = function() end,
        refund = function() end,
        refill = function() return math.huge end,
      }
    end,
  }
  limit_rules[BACKLOG] = rule
  return rule
end
