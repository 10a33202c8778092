-- Checks the jobs whose ids are the last arguments, as many as a script may read.
-- needs: budget

-- Calls look(id) for each argument from `first` on. look returns nil, or a function that repairs the job, which is
-- called if `mend`. Returns the number of arguments checked, and the ids for which look returned a function.
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
