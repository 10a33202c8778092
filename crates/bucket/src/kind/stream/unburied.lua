-- Stream kind: jobs that were to be buried while nothing could be: hash unburied, job id → its record. They are parked
-- and due.
-- needs: budget, letters, bury, kind/held

-- Buries those among the jobs that are due, as far as there is room. The others, and how many have left the bucket.
local function bury_due(keys, due)
  if #due == 0 or redis.call('HLEN', UNBURIED) == 0 then return due, 0 end
  local records = redis.call('HMGET', UNBURIED, unpack(due))
  local others, buried = {}, 0
  for i, id in ipairs(due) do
    if not records[i] then
      others[#others + 1] = id
    elseif may_read() and not dead_is_full(keys) then
      local reason = cjson.decode(records[i]).reason
      local letter = letter_of(id, entry_of(keys.jobs, id), records[i], type(reason) == 'string' and reason or '')
      count_read(letter.fields)
      redis.call('ZREM', PARKED, id)
      bury(keys, letter)
      buried = buried + 1
    end
  end
  return others, buried
end
