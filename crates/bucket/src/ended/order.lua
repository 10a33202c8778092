-- The order in which jobs ended: the zset `ended`, by ms. A member is the ids of jobs that one script ended, with
-- spaces between them; before, each job was a member.
--
-- Among them stands how large the texts of their outcomes are, so that these are forgotten without being read
-- (keep_outcomes.lua): a size is that of each text behind it, up to the next size, and so stays right where a member is
-- cut. It is a word of whitespace (word_of), which all others that read ids skip: `%S+`, also in earlier versions.
-- Behind no size, as these and the doctor write members, each text is asked for its size.
--
-- `outcomes_bytes` of the tally is the sum of the sizes of all that are listed, as they were recorded: a text doesn't
-- change, and one that somebody has deleted by hand counts until it is forgotten here. Where they have deleted all, the
-- list and its sum begin again (record_exits, retention.lua).

-- The member among those of this ms that has the id, and what is behind the id in it; nil where none has it.
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

-- Up to `most` that ended after a place, which is a time in ms and the job that ended then ('': before all of that
-- time): id, ms, id, ms…
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
    -- A job that is forgotten by now was forgotten with all that ended before it.
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

-- How a job ended, and its attempts, of its record: the line 'ms ending status attempts caller', or JSON behind the ms
-- where there is more to say. nil where it is neither.
local function ending_of(record)
  local ending, attempts = string.match(record, '^%d+ (%l+) %d+ (%d+)')
  if not ending then
    -- Within a text of the record the quotes would be escaped.
    ending, attempts = string.match(record, '"result":"(%l+)"'), string.match(record, '"attempts":(%d+)')
  end
  return ending, tonumber(attempts or 0)
end
