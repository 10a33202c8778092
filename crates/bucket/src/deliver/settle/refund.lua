-- Refunds the pace what takes of a replica charged for calls that weren't made (charge.rs).
--
-- needs: at_maxmemory, now, pace_constants, rules/refund_pace
-- KEYS  1 jobs  2 pace (hash)  3 control (hash)  4 replicas (hash), then the state of the pace (string)
-- ARGV  1 plan of the pace  2 consumer, then per take: run_id of its server, version of its settings, fingerprint of
--       its tiers (packed), µs of the Redis clock then, µs of it until which its calls might have begun, µs since, and
--       how many calls weren't made
-- Result  of how many takes calls were refunded
local PACE, CONTROL, REPLICAS = KEYS[2], KEYS[3], KEYS[4]
local plan, consumer, OF_TAKE = ARGV[1], ARGV[2], 7
-- In µs: a smaller step of the clock could be a slow network. So a window is refunded only what it was charged at least
-- this long after its begin, and buckets may have drained this much longer.
local CLOCK_STEP = 1000000

-- Otherwise the bucket was deleted, or created again, or other replicas have the jobs.
if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return 0 end
local server = redis.call('HGET', PACE, 'server')
local version, refunded = redis.call('HGET', CONTROL, 'version') or '', 0
for i = 3, #ARGV, OF_TAKE do
  local of_server, of_version, print, granted, latest, elapsed, calls = unpack(ARGV, i, i + OF_TAKE - 1)
  granted, elapsed = tonumber(granted), tonumber(elapsed)
  local is_clock_set = math.abs(now_us - granted - elapsed) >= CLOCK_STEP
  if of_server == server and of_version == version and not is_clock_set then
    local undrained = PACE_LATEST + CLOCK_STEP
    local is_refunded = limit_refund_pace(
      plan, print, granted, tonumber(latest), elapsed, tonumber(calls), CLOCK_STEP, undrained
    )
    if is_refunded then refunded = refunded + 1 end
  end
end
return refunded
