-- Messages to those who wait for something to happen in a bucket. The key of the notices is a zset, job id → ms until
-- which somebody waits for its end, and the name of the channel. A message is a word and what belongs to it:
--   ended <id> <id>…   these jobs have ended, and their outcomes are recorded
--   jobs               jobs wait, and none did before
--   taken              these jobs were taken, and who did that has room for more; only while the bucket is crowded
-- Who doesn't know a word leaves the message alone. A message may be lost, and where the ACL denies it none is sent:
-- who waits also looks periodically.
local function publish(notices, message)
  redis.pcall('PUBLISH', notices, message)
end

-- Once in a call, however many of its parts find that some wait.
local is_published = false
local function publish_jobs(notices)
  if is_published then return end
  is_published = true
  publish(notices, 'jobs')
end
