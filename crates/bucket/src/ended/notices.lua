-- Notices: those who wait for the end of a job are notified of it by a message, which is published only where somebody
-- waits.
--
-- The key of the notices is a zset, job id → ms until which somebody waits for its end, and the name of the channel. A
-- message is a word and what belongs to it:
--   ended <id> <id>…   these jobs have ended, and their outcomes are recorded
-- Who doesn't know a word leaves the message alone. A message may be lost: who waits also looks periodically.
local ended_now = {}

local function note_end(id)
  ended_now[#ended_now + 1] = id
end

-- To be called last. Where the ACL denies it, those who wait find out by looking.
local function publish_ends(notices)
  local MOST = 1000
  if #ended_now > 0 and redis.call('EXISTS', notices) == 1 then
    for from = 1, #ended_now, MOST do
      local ids, waited = { unpack(ended_now, from, math.min(#ended_now, from + MOST - 1)) }, {}
      for i, until_ms in ipairs(redis.call('ZMSCORE', notices, unpack(ids))) do
        if until_ms then waited[#waited + 1] = ids[i] end
      end
      if #waited > 0 then
        redis.call('ZREM', notices, unpack(waited))
        redis.pcall('PUBLISH', notices, 'ended ' .. table.concat(waited, ' '))
      end
    end
  end
  ended_now = {}
end
