-- The settings in force: changes made at run time (hash `control`) over the configured ones. A configured rate of 0 is none.
local function settings_in_force(key, capacity, capacity_bytes, limit, period, burst, max_in_flight)
  local c = redis.call('HMGET', key,
    'paused', 'capacity', 'capacity_bytes', 'rate_limit', 'rate_period', 'burst', 'max_in_flight', 'concurrency')
  return {
    paused = c[1] == '1',
    capacity = tonumber(c[2] or capacity),
    capacity_bytes = tonumber(c[3] or capacity_bytes),
    limit = tonumber(c[4] or limit),
    period = tonumber(c[5] or period),
    burst = tonumber(c[6] or burst),
    max_in_flight = tonumber(c[7] or max_in_flight),
    concurrency = c[8] or '',
  }
end
