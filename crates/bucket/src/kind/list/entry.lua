-- List kind: an element of the list is a job as a JSON object. This file writes its head,
-- {"id":"<id>",["expires":"<ms>",]["deliveries":"<n>",]["throttled":"1",] and `element` in the job crate its content,
-- which follows without its first brace.
-- needs: now

-- The end of contents that dripfeed wrote. In a text that was added by hand these quotes would be escaped.
local MARK = ',"v":"1"}'

-- Whether Rust reads these digits as the same number: not `01`, nor numbers beyond 2^53.
local function canonical(digits)
  return #digits <= 15 and whole(tonumber(digits)) == digits
end

-- { id, ms and seq as numbers, expires (ms) or nil, deliveries, throttled (whether a call was), at (index of the
-- content) }; nil for an element that was added by hand.
local function read_head(element)
  local id, ms, seq, at = string.match(element, '^{"id":"((%d+)%-(%d+))",()')
  if not id or not canonical(ms) or not canonical(seq) then return nil end
  local head = { id = id, ms = tonumber(ms), seq = tonumber(seq), deliveries = 0 }
  local expires, after = string.match(element, '^"expires":"(%d+)",()', at)
  if expires then head.expires, at = tonumber(expires), after end
  local deliveries, beyond = string.match(element, '^"deliveries":"(%d+)",()', at)
  if deliveries then head.deliveries, at = tonumber(deliveries), beyond end
  local behind = string.match(element, '^"throttled":"1",()', at)
  if behind then head.throttled, at = true, behind end
  head.at = at
  return head
end

local function job_id(element)
  return read_head(element).id
end

local function job_ids(elements)
  local ids = {}
  for i = 1, #elements do ids[i] = read_head(elements[i]).id end
  return ids
end

local function comes_after(head, other)
  return head.ms > other.ms or head.ms == other.ms and head.seq > other.seq
end

-- `rest`: the content without its first brace.
local function make_element(head, rest)
  local expires = head.expires and '"expires":"' .. whole(head.expires) .. '",' or ''
  local deliveries = head.deliveries > 0 and '"deliveries":"' .. whole(head.deliveries) .. '",' or ''
  local throttled = head.throttled and '"throttled":"1",' or ''
  return '{"id":"' .. head.id .. '",' .. expires .. deliveries .. throttled .. rest
end

-- A new id, as a stream would make it: later than all before it, even if the clock was set back. The tally stores the
-- last one.
local function next_id(tally)
  local last_ms, last_seq = string.match(redis.call('HGET', tally, 'last_id') or '', '^(%d+)%-(%d+)$')
  local ms, seq = now_ms, 0
  if last_ms and tonumber(last_ms) >= now_ms then ms, seq = tonumber(last_ms), tonumber(last_seq) + 1 end
  local id = whole(ms) .. '-' .. whole(seq)
  redis.call('HSET', tally, 'last_id', id)
  return id
end

-- Makes a job of a text that was added by hand: the whole text is the body.
local function adopt(tally, text)
  local head = { id = next_id(tally), deliveries = 0 }
  -- A job of dripfeed that has lost its head keeps the mark, so that it is recognised as corrupt.
  local last = string.sub(text, -#MARK) == MARK and MARK or '}'
  return head, make_element(head, '"body":' .. cjson.encode(text) .. last)
end

-- Doesn't cut the head off: Redis hashes each new string of Lua, which takes a millisecond or more for a large one.
local function entry_of(_, element)
  return { 'element', element, at = read_head(element).at }
end

-- The fields of its dead letter.
local function letter_fields(entry)
  return { 'element', '{' .. string.sub(entry[2], entry.at) }
end

local function is_ours(content)
  return string.sub(content, -#MARK) == MARK
end

local function caller_of(entry)
  local content = field(entry, 'element') or ''
  -- Usually found without decoding: within a JSON string these quotes would be escaped.
  local _, at = string.find(content, '"caller":', 1, true)
  if not at then return nil end
  local caller = is_ours(content) and string.match(content, '^"([^"\\]+)"', at + 1)
  if caller then return cut_caller(caller) end
  local readable, members = pcall(cjson.decode, content)
  caller = readable and type(members) == 'table' and members.caller
  return type(caller) == 'string' and cut_caller(caller) or nil
end

-- The bytes that an entry counts against `capacity_bytes`: as `element::counted_bytes` in the job crate. Elements that
-- were added by hand count 0.
local function counted_bytes(entry)
  local content = field(entry, 'element') or ''
  -- The element of a dead letter has no head.
  return is_ours(content) and #content - (entry.at and entry.at - 2 or 0) or 0
end
