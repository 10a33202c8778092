-- The limits of callers, or groups. Only those that a script needs are parsed, as many may have limits.

-- `text`: from pace/bounds.rs: the first line has the default limits as JSON, each further line a name and its limits.
-- Returns a function of a name, which returns { rates, most: concurrent calls, paused }, all optional. `rates`: {
-- limit, period in µs, burst } or false for the rate, then for each tier.
local function open_limits(text)
  -- Limits by name, and by their JSON, since many names may have the same.
  local each, known, decoded = nil, {}, {}

  local function read(from)
    local line = string.sub(text, from, (string.find(text, '\n', from, true) or 0) - 1)
    decoded[line] = decoded[line] or cjson.decode(line)
    return decoded[line]
  end

  -- Escapes a name as bounds.rs does, so that it can't contain spaces and line breaks.
  local function escaped(name)
    return (string.gsub(name, '[^!-$&-~]', function(byte) return string.format('%%%02X', string.byte(byte)) end))
  end

  local function find(name)
    local _, last = string.find(text, '\n' .. escaped(name) .. ' ', 1, true)
    if last then return read(last + 1) end
    each = each or read(1)
    return each
  end

  return function(name)
    local limits = known[name]
    if not limits then
      limits = find(name)
      known[name] = limits
    end
    return limits
  end
end
