-- What is kept, as keep.rs writes it.
local function read_keep(text)
  local n = {}
  for number in string.gmatch(text, '%d+') do n[#n + 1] = tonumber(number) end
  return {
    outcomes_ms = n[1], most_outcomes = n[2], outcomes_bytes = n[3],
    dead_ms = n[4], most_dead = n[5], dead_bytes = n[6], keys_ms = n[7], holds = n[8] == 1,
  }
end
