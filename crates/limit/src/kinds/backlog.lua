-- `backlog`: the length of a queue, which isn't our state. The script that includes the rules reports it: `queue` has
-- `length`, and `wait(excess)`, the µs until this many have left.
if code == BACKLOG then
  local rule
  rule = {
    -- The request is one job in the queue, whatever it costs: the queue is as long as it was before that.
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
