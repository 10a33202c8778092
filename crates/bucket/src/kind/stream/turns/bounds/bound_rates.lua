-- Stream kind: the rates of one caller, or group, during a take. Each is false, or a leaky bucket as in debts.lua.

local room_in_rates, charge_rates, time_to_drain
do
  -- How many calls may begin.
  function room_in_rates(rates, debts)
    -- The rounding error of sums of tokens.
    local EXACT, room = 0.000000001, math.huge
    for i = 1, #rates do
      local rate = rates[i]
      if rate then room = math.min(room, math.floor(rate.burst - debts[i] + EXACT)) end
    end
    return room
  end

  -- Charges a call. `undrained`: for the first call of a take, for how many µs granted calls don't drain; else 0.
  function charge_rates(rates, debts, undrained)
    for i = 1, #rates do
      local rate = rates[i]
      if rate then
        if undrained > 0 then debts[i] = math.max(debts[i], undrained * rate.limit / rate.period) end
        debts[i] = debts[i] + 1
      end
    end
  end

  -- µs until all debts have drained.
  function time_to_drain(rates, debts)
    local drains = 0
    for i = 1, #rates do
      local rate = rates[i]
      if rate then drains = math.max(drains, debts[i] * rate.period / rate.limit) end
    end
    return math.ceil(drains)
  end
end
