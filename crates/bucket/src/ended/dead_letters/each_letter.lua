-- Walks dead letters that match, oldest first. Redis reads entries whole, so one after the other, up to the bytes that
-- a script may read.
-- needs: now, budget, behind, kind/entry

-- Five arguments, where '' lets all pass: a text within the reason, the last status or 'none', the caller, where to end
-- as XRANGE writes it, '1': the reason is that text.
local function read_filter(first)
  return {
    reason = ARGV[first], status = ARGV[first + 1], caller = ARGV[first + 2], ending = ARGV[first + 3],
    is_exact = ARGV[first + 4] == '1',
  }
end

-- 'none': no answer came.
local function status_of(entry)
  return string.match(field(entry, 'outcome') or '', '"status":(%d+)') or 'none'
end

-- Also of a letter of the bucket's earlier kind, whose caller is a field, or a member of the element.
local function caller_of_letter(entry)
  local caller = caller_of(entry) or field(entry, 'caller')
  local element = not caller and field(entry, 'element')
  if element and string.find(element, '"caller":', 1, true) then
    local readable, members = pcall(cjson.decode, element)
    caller = readable and type(members) == 'table' and members.caller
  end
  return type(caller) == 'string' and cut_caller(caller)
end

local function matches(filter, entry)
  local reason = field(entry, 'reason') or ''
  if filter.is_exact and reason ~= filter.reason then return false end
  if filter.reason ~= '' and not string.find(reason, filter.reason, 1, true) then return false end
  if filter.status ~= '' and status_of(entry) ~= filter.status then return false end
  return filter.caller == '' or caller_of_letter(entry) == filter.caller
end

-- Calls look(letter) for those that match, as long as goes_on() says so. `from` is where to begin, as XRANGE writes it.
-- Returns the last letter that was looked at, or '' at the end.
local function each_letter(dead, from, filter, goes_on, look)
  -- In one call, so that a rare letter doesn't keep Redis from others.
  local LOOKED_AT = 200
  local last = ''
  for _ = 1, LOOKED_AT do
    if not goes_on() or not may_read() then return last end
    local letter = entries_between(dead, from, filter.ending, 1)[1]
    if not letter then return '' end
    last, from = letter[1], '(' .. letter[1]
    count_read(letter[2])
    if matches(filter, letter[2]) then look(letter) end
  end
  return last
end
