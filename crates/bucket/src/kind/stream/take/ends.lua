-- Stream kind: jobs that end during a take.
-- needs: constants, now, record, record_each, kind/entry, kind/held, kind/give, kind/put_back

-- Called before the first job ends, so that keys of another type are found before the first write about it.
local has_checked = false
local function check_once(keys)
  if has_checked then return end
  has_checked = true
  check_types(keys)
end

local function remove(keys, id)
  check_once(keys)
  redis.call('XACK', keys.jobs, GROUP, id)
  redis.call('XDEL', keys.jobs, id)
  redis.call('HDEL', ATTEMPTS, id)
end

local function end_too_large(keys, id, size)
  remove(keys, id)
  record_too_large(keys, id, size)
  put_aside, rare.died = put_aside + 1, rare.died + 1
end

-- `counted`, `is_claimed` as for is_callable.
local function end_expired(keys, id, entry, counted, is_claimed)
  local handed_out = is_claimed and redis.call('XPENDING', keys.jobs, GROUP, id, id, 1)[1][4] - 1 or 0
  remove(keys, id)
  local chain = field(entry, 'chain')
  record_expired(keys, id, handed_out, counted, counted_bytes(entry), caller_of(entry), chain)
  expired = expired + 1
end

-- Handles a job that is due or waits again, but can't be claimed. Either somebody deleted it by hand: then its attempts
-- are removed; or the group was created again: then the job is new again.
local function forget_gone(keys, id, counted)
  redis.call('XACK', keys.jobs, GROUP, id)
  if counted and not redis.call('XRANGE', keys.jobs, id, id)[1] then
    redis.call('HDEL', ATTEMPTS, id)
    forget_failed(id)
  end
end
