-- Notes that a job with a delay, a group or a priority is in the bucket. Each may be nil.
local function note_mixed(key, pace, due, group, priority)
  if pace.is_mixed or not (due or group or priority) then return end
  redis.call('HSET', key, 'mixed', 1)
  pace.is_mixed = true
end
