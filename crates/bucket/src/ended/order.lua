-- The order in which jobs ended: the zset `ended`, by ms. A member has the ids of jobs that one script ended, separated
-- by spaces. Earlier versions wrote a member for each job.
--
-- Among the ids are the sizes of outcomes, so that these are deleted without being read (keep_outcomes.lua). A size is
-- that of each outcome after it, up to the next size. It is a word of whitespace (word_of), which all other readers of
-- ids skip (`%S+`), also in earlier versions. In members of these and of the doctor, which have none, Redis is asked.
--
-- `outcomes_bytes` of the tally is the sum of the sizes in the list. An outcome that somebody has deleted by hand
-- counts until it is deleted here. If all were deleted, the list and the sum begin again (record_exits, retention.lua).

-- The member with this id among those of a ms, and its part after the id; nil if none has it.
local function listed_with(ended, ms, id)
  if redis.call('ZSCORE', ended, id) then return id, '' end
  local MEMBERS = 100
  local from = 0
  repeat
    local members = redis.call('ZRANGE', ended, ms, ms, 'BYSCORE', 'LIMIT', from, MEMBERS)
    for _, member in ipairs(members) do
      local _, last = string.find(' ' .. member .. ' ', ' ' .. id .. ' ', 1, true)
      if last then return member, string.sub(member, last) end
    end
    from = from + MEMBERS
  until #members < MEMBERS
end

-- Up to `most` jobs that ended after a place: a time in ms, and a job that ended then ('': all of that time follow).
-- Returns id, ms, id, ms…
local function ended_after(ended, ms, id, most)
  local MEMBERS = 16
  local places = {}
  local function add(ids, at)
    for each in string.gmatch(ids, '%S+') do
      if #places == 2 * most then return end
      places[#places + 1], places[#places + 2] = each, at
    end
  end

  local member, rest
  if id ~= '' then member, rest = listed_with(ended, ms, id) end
  local rank
  if member then
    rank = redis.call('ZRANK', ended, member) + 1
    add(rest, ms)
  else
    -- If the job's outcome was deleted, so were those of all jobs that ended before it.
    local first = redis.call('ZRANGE', ended, ms, '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
    if not first then return places end
    rank = redis.call('ZRANK', ended, first)
  end
  while #places < 2 * most do
    local found = redis.call('ZRANGE', ended, rank, rank + MEMBERS - 1, 'WITHSCORES')
    if #found == 0 then break end
    for i = 1, #found, 2 do add(found[i], found[i + 1]) end
    rank = rank + MEMBERS
  end
  return places
end

-- The ending and the attempts in a record: the line 'ms ending status attempts caller', or JSON after the ms. nil if it
-- is neither.
local function ending_of(record)
  local ending, attempts = string.match(record, '^%d+ (%l+) %d+ (%d+)')
  if not ending then
    -- Within a JSON string these quotes would be escaped.
    ending, attempts = string.match(record, '"result":"(%l+)"'), string.match(record, '"attempts":(%d+)')
  end
  return ending, tonumber(attempts or 0)
end
