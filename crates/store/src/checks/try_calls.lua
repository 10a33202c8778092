-- A fragment: tries calls.
--
-- ARGV  per call: number of its words, then these

-- Why each failed, or ''.
local function try_calls()
  local errors, at = {}, 1
  while at <= #ARGV do
    local words = tonumber(ARGV[at])
    local answer = redis.pcall(unpack(ARGV, at + 1, at + words))
    errors[#errors + 1] = type(answer) == 'table' and answer.err or ''
    at = at + 1 + words
  end
  return errors
end
