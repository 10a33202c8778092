-- What each caller, or group, may. Many may be named: only those that a script asks about are parsed.

-- `text`: as pace/bounds.rs writes it: in the first line what those may that aren't named, then in each line a name and
-- what that one may, as JSON. What it returns shows of a name { rates, most at once, paused }, all of which may be
-- missing; `rates`: { limit, period in µs, burst } or false, then those of the tiers.
local function open_limits(text)
  -- By name, and by what they are read from: many may have the same.
  local each, known, decoded = nil, {}, {}

  local function read(from)
    local line = string.sub(text, from, (string.find(text, '\n', from, true) or 0) - 1)
    decoded[line] = decoded[line] or cjson.decode(line)
    return decoded[line]
  end

  -- As in bounds.rs: no byte of a name is taken for another one's line.
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
