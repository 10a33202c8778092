-- The extras of a job: fields that not all entries have, and options for the script.
-- needs: batch

-- The first character of names that are for the script only, and of a start that is a delay.
local FOR_SCRIPT, DELAY = string.byte('@+', 1, 2)
local byte = string.byte

-- Reads `extras` names and values from ARGV[first] on, and writes those that are fields into the entry. Returns all by
-- name, the last index in the entry, and the bytes of the fields.
local function read_options(first, extras)
  -- Allocated with room for four.
  local options, last, bytes = { ['@once'] = nil, ['@fingerprint'] = nil, headers = nil, caller = nil }, PLAIN, 0
  for i = first, first + 2 * extras - 1, 2 do
    local name, value = ARGV[i], ARGV[i + 1]
    options[name] = value
    if byte(name) ~= FOR_SCRIPT then
      entry[last + 1], entry[last + 2] = name, value
      last, bytes = last + 2, bytes + #value
    end
  end
  if last > members then members = last end
  return options, last, bytes
end

-- Writes the last fields of the entry after index `last` (read_options), and removes those of an earlier job.
local function end_entry(last, due, expires)
  if due then
    entry[last + 1], entry[last + 2] = 'due', whole(due)
    last = last + 2
  end
  if expires then
    entry[last + 1], entry[last + 2] = 'expires', whole(expires)
    last = last + 2
  end
  for i = last + 1, members do entry[i] = nil end
  members = last
end

-- When a job that was accepted at `accepted_ms` is due, in ms since the epoch; nil if it is due now.
local function due_of(start, accepted_ms)
  local due = string.sub(start, 1, 1) == '+' and accepted_ms + tonumber(string.sub(start, 2)) or tonumber(start)
  return due > now_ms and due or nil
end

-- When a job expires, in ms since the epoch; nil without a deadline. If its eta is later: nil, and µs until a retry, or
-- false if a retry can't succeed.
local function deadline_of(options, eta, due)
  local lifetime = options['@expires']
  if not lifetime then return nil end
  local deadline = tonumber(string.match(lifetime, '^@(%d+)$'))
  if deadline then return deadline end
  local excess = eta - lifetime * 1000
  if excess <= 0 then return now_ms + lifetime end
  -- A job whose delay is longer than its lifetime is always late; a start at a fixed time comes nearer.
  local is_always_late = due and byte(options['@start']) == DELAY and due - now_ms >= tonumber(lifetime)
  return nil, not is_always_late and excess
end
