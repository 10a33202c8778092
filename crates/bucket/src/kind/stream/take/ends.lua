-- Stream kind: jobs that end on their way to a replica.
-- needs: constants, now, record, record_each, kind/entry, kind/held, kind/give, kind/put_back

-- Before the first of them ends: what is of another type is found before anything is written.
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

-- One that is due or waits again is gone: deleted by hand, or unknown to a group that was made again; in both cases
-- nothing is pending. What was counted of the one goes with it; the other is new again.
local function forget_gone(keys, id, counted)
  redis.call('XACK', keys.jobs, GROUP, id)
  if counted and not redis.call('XRANGE', keys.jobs, id, id)[1] then
    redis.call('HDEL', ATTEMPTS, id)
    forget_failed(id)
  end
end
