-- Lists dead letters that match, oldest first. Redis reads entries whole, so one after the other, up to the bytes that
-- a script may read.
--
-- needs: now, budget, kind/entry
-- KEYS  1 dead (stream)
-- ARGV  1 where to begin, as XRANGE writes it  2 the most letters  3 bytes that the page has already
--       4 '1': the ids of their jobs alone, then the filter, where '' lets all pass:
--       5 a text within the reason  6 the last status  7 the caller  8 the last ms at which they died
--       9 '1': the reason is that text
-- Result  { bytes read, the last letter that was looked at or '' at the end,
--           the letter's id and its fields | the job's id… }
local DEAD = KEYS[1]
local from, most, ids_alone = ARGV[1], tonumber(ARGV[2]), ARGV[4] == '1'
local before = tonumber(ARGV[3])
bytes_read = before
local reason, status, caller, last_ms = ARGV[5], ARGV[6], ARGV[7], tonumber(ARGV[8])
local is_exact = ARGV[9] == '1'
-- In one call, so that a rare letter doesn't keep Redis from others.
local LOOKED_AT = 200

local function matches(entry)
  local its_reason = field(entry, 'reason') or ''
  if is_exact and its_reason ~= reason then return false end
  if reason ~= '' and not string.find(its_reason, reason, 1, true) then return false end
  if status ~= '' and string.match(field(entry, 'outcome') or '', '"status":(%d+)') ~= status then return false end
  return caller == '' or caller_of(entry) == caller
end

local last, ended, found = '', false, {}
for _ = 1, LOOKED_AT do
  if #found >= most or not may_read() then break end
  local letter = redis.call('XRANGE', DEAD, from, '+', 'COUNT', 1)[1]
  if not letter or last_ms and tonumber(string.match(letter[1], '^%d+')) > last_ms then
    ended = true
    break
  end
  last, from = letter[1], '(' .. letter[1]
  count_read(letter[2])
  if matches(letter[2]) then
    local shown = letter
    if ids_alone then shown = field(letter[2], 'job') end
    found[#found + 1] = shown
  end
end
return { bytes_read - before, ended and '' or last, unpack(found) }
