-- Functions that few settlements need: to put jobs back, to keep failed attempts, and for outcome jobs; and those of
-- settle_exceptions.lua, which even fewer need.
-- needs: outbox, record_each, kind/put_back
-- opens: open_exceptions = settle_exceptions

local opened
local function exceptions()
  opened = opened or open_exceptions()
  return opened
end

-- Parks jobs, each with the record of its failed attempt, or ''.
local function put_each_back(keys, jobs)
  put_back(keys, jobs)
  for _, job in ipairs(jobs) do
    if job.is_there and job.attempt ~= '' then keep_failed(keys, job.name, job.attempt) end
  end
end

return {
  open_outbox = open_outbox, put_each_back = put_each_back, record_each_delivered = record_each_delivered,
  exceptions = exceptions,
}
