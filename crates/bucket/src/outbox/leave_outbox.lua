-- Ends the lease of a process that doesn't know all target buckets, so that another process can take it.
--
-- KEYS  1 lease (string: name of the process)
-- ARGV  1 name of this process
-- Result  1 if this process had the lease, else 0
local LEASE, name = KEYS[1], ARGV[1]

if redis.call('GET', LEASE) ~= name then return 0 end
return redis.call('DEL', LEASE)
