-- Counts the jobs of a bucket of either kind. `takers`: the hash with a list's jobs in flight by consumer.
local function count_any_kind(jobs, takers)
  local function length(command)
    local found = redis.pcall(command, jobs)
    return type(found) == 'number' and found or 0
  end

  local count, counted = length('XLEN') + length('LLEN'), redis.call('HGETALL', takers)
  for i = 2, #counted, 2 do count = count + tonumber(counted[i]) end
  return count
end
