-- Adds refused submissions of callers to the counts that all intakes share, and returns those of this hour and of the
-- one before. If all counters of an hour are in use, a caller takes over the lowest one with its count: so the callers
-- with the most refusals are counted, and no count is too low.
--
-- needs: now
-- KEYS  1 control (hash)  2 refusals (hash: `<hour since the epoch> <limit> <caller>` → count)
-- ARGV  1 incarnation ('': the bucket isn't created over the API)  2 maximum number of counters of an hour
--       3… pairs: `<limit> <caller>`, how often
-- Result  { 1 if they were added; 0 at maxmemory, or if the bucket was deleted; then pairs like those in ARGV }
local CONTROL, REFUSALS, incarnation, most = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2])
local HOUR_MS = 3600000
local hour = math.floor(now_ms / HOUR_MS)

local by_hour, gone, found, used = { [hour] = {}, [hour - 1] = {} }, {}, redis.call('HGETALL', REFUSALS), 0
for i = 1, #found, 2 do
  local of, pair = string.match(found[i], '^(%d+) (.+)$')
  of = tonumber(of)
  if by_hour[of] then
    by_hour[of][pair] = tonumber(found[i + 1]) or 0
    if of == hour then used = used + 1 end
  else
    gone[found[i]] = true
  end
end

local function name(pair)
  return hour .. ' ' .. pair
end

local counts = by_hour[hour]
local function lowest()
  local low
  for pair, count in pairs(counts) do
    if not low or count < counts[low] or count == counts[low] and pair < low then low = pair end
  end
  return low
end

local set, is_added = {}, 0
for i = 3, #ARGV, 2 do
  local pair, count = ARGV[i], tonumber(ARGV[i + 1])
  if not counts[pair] and used >= most then
    local low = lowest()
    count, counts[low], set[low], gone[name(low)] = count + counts[low], nil, nil, true
  elseif not counts[pair] then
    used = used + 1
  end
  counts[pair] = (counts[pair] or 0) + count
  set[pair], gone[name(pair)] = true, nil
end

if #ARGV > 2 and (incarnation == '' or redis.call('HGET', CONTROL, 'incarnation') == incarnation) then
  local writes, removed = {}, {}
  for field in pairs(gone) do removed[#removed + 1] = field end
  for pair in pairs(set) do
    writes[#writes + 1] = name(pair)
    writes[#writes + 1] = whole(counts[pair])
  end
  -- At maxmemory nothing is written.
  if type(redis.pcall('HSET', REFUSALS, unpack(writes))) == 'number' then
    if #removed > 0 then redis.call('HDEL', REFUSALS, unpack(removed)) end
    redis.call('PEXPIRE', REFUSALS, 2 * HOUR_MS)
    is_added = 1
  end
end

local result = { is_added }
for _, of_hour in pairs(by_hour) do
  for pair, count in pairs(of_hour) do
    result[#result + 1] = pair
    result[#result + 1] = count
  end
end
return result
