-- How many jobs there are, whichever kind of bucket they are in. `takers`: where a list's jobs in flight are counted.
local function count_any_kind(jobs, takers)
  local function length(command)
    local found = redis.pcall(command, jobs)
    return type(found) == 'number' and found or 0
  end

  local count, counted = length('XLEN') + length('LLEN'), redis.call('HGETALL', takers)
  for i = 2, #counted, 2 do count = count + tonumber(counted[i]) end
  return count
end
