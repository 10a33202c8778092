-- Checks the jobs whose ids are the last arguments, as many as a script may read.
-- needs: budget

-- Calls check(id) for each argument from `first` on. check returns nil, or a function that repairs the job, which is
-- called if `is_repair`. Returns the number of arguments checked, and the ids for which check returned a function.
local function examine_each(first, is_repair, check)
  local answer = { 0 }
  for i = first, #ARGV do
    if not may_read() then break end
    answer[1] = answer[1] + 1
    local repair = check(ARGV[i])
    if repair then
      answer[#answer + 1] = ARGV[i]
      if is_repair then repair() end
    end
  end
  return answer
end
