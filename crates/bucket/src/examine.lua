-- Examines the invariants of a bucket, all at one moment, and mends what is broken when asked to. It reads every job, so it
-- keeps Redis busy for about a microsecond per job and field: an operator's tool, not a routine.
--
-- KEYS  1 jobs (stream)  2 parked (zset)  3 tally (hash)  4 replicas (hash)  5 attempts (hash)  6 outcomes (hash)
--       7 ended (zset)  8 dead (stream)  9 letters (hash)  10 holders (hash)
-- ARGV  1 '1' to mend
-- Result  { { finding, how many, an example or '' }… }
local JOBS, PARKED, TALLY, REPLICAS, ATTEMPTS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local OUTCOMES, ENDED, DEAD, LETTERS, HOLDERS = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local mend = ARGV[1] == '1'
local PAGE = 500

local findings, counts, examples = {}, {}, {}
local function found(finding, example, many)
  if not counts[finding] then
    findings[#findings + 1] = finding
    counts[finding], examples[finding] = 0, example or ''
  end
  counts[finding] = counts[finding] + (many or 1)
end

-- Calls `see` with every entry of a stream.
local function each_entry(stream, see)
  local from = '-'
  repeat
    local page = redis.call('XRANGE', stream, from, '+', 'COUNT', PAGE)
    for _, entry in ipairs(page) do see(entry[1], entry[2]) end
    if #page > 0 then from = '(' .. page[#page][1] end
  until #page < PAGE
end

-- Who has what pending.
local owners = {}
local function read_pending()
  local from = '-'
  repeat
    local page = redis.pcall('XPENDING', JOBS, 'processors', from, '+', PAGE)
    if page.err then return end
    for _, held in ipairs(page) do owners[held[1]] = held[2] end
    if #page > 0 then from = '(' .. page[#page][1] end
  until #page < PAGE
end

local function park_now(id)
  redis.call('XCLAIM', JOBS, 'processors', '@parked', 0, id, 'RETRYCOUNT', 0, 'FORCE', 'JUSTID')
  redis.call('ZADD', PARKED, whole(now_ms), id)
end

local delivered
local groups = redis.pcall('XINFO', 'GROUPS', JOBS)
for _, group in ipairs(groups.err and {} or groups) do
  local info = {}
  for i = 1, #group, 2 do info[group[i]] = group[i + 1] end
  if info.name == 'processors' then delivered = info['last-delivered-id'] end
end
read_pending()

local waiting = {}
if delivered then
  local from = '(' .. delivered
  repeat
    local page = redis.call('XRANGE', JOBS, from, '+', 'COUNT', PAGE)
    for _, entry in ipairs(page) do waiting[entry[1]] = true end
    if #page > 0 then from = '(' .. page[#page][1] end
  until #page < PAGE
end

local present, bytes, level, held_by = {}, 0, 0, {}
each_entry(JOBS, function(id, entry)
  present[id] = true
  level = level + 1
  local size, caller = counted_bytes(entry), caller_of(entry)
  bytes = bytes + size
  if size > 0 and caller then held_by[caller] = (held_by[caller] or 0) + 1 end
  if delivered and not owners[id] and not waiting[id] then
    found('stranded', id)
    if mend then park_now(id) end
  end
end)

for id, owner in pairs(owners) do
  if not present[id] then
    found('phantom', id)
    if mend then redis.call('XACK', JOBS, 'processors', id) end
  elseif owner == '@parked' and not redis.call('ZSCORE', PARKED, id) then
    found('never_due', id)
    if mend then redis.call('ZADD', PARKED, whole(now_ms), id) end
  elseif owner ~= '@parked' and redis.call('HEXISTS', REPLICAS, owner) == 0 then
    found('held_by_no_member', id)
    if mend then park_now(id) end
  end
end
for _, id in ipairs(redis.call('ZRANGE', PARKED, 0, -1)) do
  if owners[id] ~= '@parked' and (not mend or not present[id]) then
    found('due_but_not_parked', id)
    if mend then redis.call('ZREM', PARKED, id) end
  end
end
for _, id in ipairs(redis.call('HKEYS', ATTEMPTS)) do
  if not present[id] then
    found('attempts_of_nothing', id)
    if mend then redis.call('HDEL', ATTEMPTS, id) end
  end
end

local held = tonumber(redis.call('HGET', TALLY, 'bytes') or 0)
if held ~= bytes then
  found('bytes_miscounted', whole(held) .. ' counted, ' .. whole(bytes) .. ' held')
  if mend then redis.call('HSET', TALLY, 'bytes', whole(bytes)) end
end

local counted = redis.call('HGETALL', HOLDERS)
for i = 1, #counted, 2 do
  local caller, jobs = counted[i], tonumber(counted[i + 1])
  held_by[caller] = (held_by[caller] or 0) - jobs
end
for caller, more in pairs(held_by) do
  if more ~= 0 then
    found('holders_miscounted', caller .. ' holds ' .. whole(math.abs(more)) .. (more > 0 and ' more' or ' less'))
    if mend and redis.call('HINCRBY', HOLDERS, caller, whole(more)) < 1 then redis.call('HDEL', HOLDERS, caller) end
  end
end

local letters = {}
each_entry(DEAD, function(letter, entry)
  local id = field(entry, 'job') or letter
  letters[id] = letter
  if redis.call('HGET', LETTERS, id) ~= letter then
    found('letter_not_indexed', id)
    if mend then redis.call('HSET', LETTERS, id, letter) end
  end
end)
for _, id in ipairs(redis.call('HKEYS', LETTERS)) do
  if not letters[id] then
    found('index_of_no_letter', id)
    if mend then redis.call('HDEL', LETTERS, id) end
  end
end

local unlisted = redis.call('HLEN', OUTCOMES) - redis.call('ZCARD', ENDED)
if unlisted ~= 0 then found('outcomes_not_listed', '', math.abs(unlisted)) end

local total = redis.call('HMGET', TALLY, 'accepted', 'delivered', 'dead', 'expired', 'cancelled')
local ended = 0
for i = 2, 5 do ended = ended + tonumber(total[i] or 0) end
local missing = tonumber(total[1] or 0) - ended - level
if missing > 0 then found('lost', '', missing) end

local answer = {}
for i, finding in ipairs(findings) do answer[i] = { finding, counts[finding], examples[finding] } end
return answer
