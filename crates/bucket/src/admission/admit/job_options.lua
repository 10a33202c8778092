-- What a job has besides the fields that each has: for the entry, or for the script alone.
-- needs: batch

-- What the names begin with that are for the script, and a start that is a delay.
local FOR_SCRIPT, DELAY = string.byte('@+', 1, 2)
local byte = string.byte

-- What a job has besides the fields that each has, by name: `besides` names and values, in ARGV from `first` on.
-- Those that are fields, too, are written into the entry: up to its place `last`. Their bytes come third.
local function read_options(first, besides)
  -- With room for some from the start.
  local options, last, bytes = { ['@once'] = nil, ['@fingerprint'] = nil, headers = nil, caller = nil }, PLAIN, 0
  for i = first, first + 2 * besides - 1, 2 do
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

-- Ends the entry behind its place `last`: what is before that is there already (read_options).
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

-- ms since the epoch, of a job that is accepted then; nil: at once.
local function due_of(start, accepted_ms)
  local due = string.sub(start, 1, 1) == '+' and accepted_ms + tonumber(string.sub(start, 2)) or tonumber(start)
  return due > now_ms and due or nil
end

-- When a job expires, in ms, nil without a deadline. And whether its eta is later: then µs to wait until it isn't, or
-- false where no wait helps.
local function deadline_of(options, eta, due)
  local lifetime = options['@expires']
  if not lifetime then return nil end
  local deadline = tonumber(string.match(lifetime, '^@(%d+)$'))
  if deadline then return deadline end
  local excess = eta - lifetime * 1000
  if excess <= 0 then return now_ms + lifetime end
  -- One that would end before its delay does stays late; one with a time comes nearer to it.
  local is_always_late = due and byte(options['@start']) == DELAY and due - now_ms >= tonumber(lifetime)
  return nil, not is_always_late and excess
end
