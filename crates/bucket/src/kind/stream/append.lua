-- Stream kind: adds a job; what it returns is the job's id. nil for an entry that has nothing in it: it would only die.
local function append(keys, entry)
  if #entry == 0 then return nil end
  return redis.call('XADD', keys.jobs, '*', unpack(entry))
end
