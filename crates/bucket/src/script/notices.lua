-- Messages about a bucket. The key `notices` is a zset, job id → ms until which a caller waits for its end, and also
-- the name of the channel. The messages:
--   ended <id> <id>…   these jobs have ended, and their outcomes are recorded
--   jobs               jobs wait, and none did before
--   taken              these jobs were taken by a replica that has room for more; only while the bucket is crowded
-- Receivers ignore unknown messages. A message may be lost, or denied by the ACL, so receivers also check periodically.
local function publish(notices, message)
  redis.pcall('PUBLISH', notices, message)
end

-- Publishes `jobs` at most once in a script.
local is_published = false
local function publish_jobs(notices)
  if is_published then return end
  is_published = true
  publish(notices, 'jobs')
end
