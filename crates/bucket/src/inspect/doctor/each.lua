-- The jobs whose ids are the last of ARGV, one after the other, as many as a script may read.
-- needs: budget

-- Calls look(id) for those from the argument `first` on. It returns nil, or what repairs this one, which is done when
-- asked to. The answer: how many were looked at, and the ids of those that are to be repaired.
local function examine_each(first, mend, look)
  local answer = { 0 }
  for i = first, #ARGV do
    if not may_read() then break end
    answer[1] = answer[1] + 1
    local repair = look(ARGV[i])
    if repair then
      answer[#answer + 1] = ARGV[i]
      if mend then repair() end
    end
  end
  return answer
end
