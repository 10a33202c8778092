-- Stream kind: whether jobs without a caller take places among those that wait (places.lua).
-- needs: kind/sole_caller

-- `text`: the weights, '' where nobody takes turns. `bounds`: '' where nobody has a rate alone.
local function nobodys_take_places(keys, holders, text, level, pace, bounds)
  if text == '' then return false end
  if pace.flows or bounds ~= '' then return true end
  return level > 0 and sole_caller(keys, holders, level, pace.is_mixed) ~= ''
end
