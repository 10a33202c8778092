-- Stream kind: reads jobs that are to be moved to another bucket, also pending ones. Returns { id, fields, due, failed
-- attempts, '1' if it waits for room among the dead letters }…, and whether these are the last.
-- needs: budget, kind/pending
local function read_leaving(jobs, _, after, most)
  local ATTEMPTS, UNBURIED, PARKED = KEYS[#KEYS - 7], KEYS[#KEYS - 6], KEYS[#KEYS - 2]
  local read, from = {}, after == '' and '-' or '(' .. after
  while #read < most and may_read() do
    local found = first_entry(jobs, from, '+')
    if not found then return read, true end
    local id, entry = found[1], found[2]
    count_read(entry)
    from = '(' .. id
    local due, failures = redis.call('ZSCORE', PARKED, id), redis.call('HGET', ATTEMPTS, id)
    local is_dead = redis.call('HEXISTS', UNBURIED, id) == 1
    read[#read + 1] = { id, entry, due or '', failures or '', is_dead and '1' or '' }
  end
  return read, false
end
