-- What few settlements need: where jobs are put back, more is kept of them than their outcomes, or ends go to other
-- buckets; and in the exceptions that even fewer have.
-- needs: outbox, record_each, kind/put_back
-- opens: open_exceptions = settle_exceptions

local opened
local function exceptions()
  opened = opened or open_exceptions()
  return opened
end

return {
  open_outbox = open_outbox, put_back = put_back, keep_failed = keep_failed,
  record_each_delivered = record_each_delivered, exceptions = exceptions,
}
