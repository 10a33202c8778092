-- What few settlements need: where jobs are put back, more is kept of them than their outcomes, or ends go to other
-- buckets; and in the exceptions that even fewer have.
-- needs: outbox, record_each, kind/put_back
-- opens: open_exceptions = settle_exceptions

local opened
local function exceptions()
  opened = opened or open_exceptions()
  return opened
end

-- Jobs that stay in the bucket, each with its failed attempt as it is kept, or ''.
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
