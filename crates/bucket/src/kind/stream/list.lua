-- Lists jobs of the stream, oldest first. Redis reads entries whole, so they are read one by one, up to the bytes that
-- a script may read. Pending jobs are selected by id before they are read.
--
-- needs: constants, now, budget, job_filter, kind/pending, kind/view, kind/waiting
-- KEYS  1 jobs (stream)  2 parked (zset)  3 attempts (hash), then ranges (zset)
-- ARGV  1 the id after which to begin ('' for the first)  2 the most jobs  3 a state, or '' for all
--       4 bytes read for the page before  5 the caller, '' for all  6 ms since the admission at least, '' for all
--       7 the latest ms of the admission, '' for all
-- Result  { bytes read, the last id that was looked at or '' at the end, job… as in view.lua }
local JOBS = KEYS[1]
local keys = { parked = KEYS[2], attempts = KEYS[3] }
local last, most, state = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local before, wanted, newest_ms = tonumber(ARGV[4]), ARGV[5], newest_of(ARGV[6], ARGV[7])
-- As the end of a range, an id without a sequence number stands for the last one of its millisecond.
local newest = newest_ms == math.huge and '+' or whole(newest_ms)
bytes_read = before
-- The maximum of jobs checked in one call, so that a rare state or caller doesn't block Redis.
local LOOKED_AT = 200

local jobs = {}
local function is_full()
  return #jobs >= most or not may_read()
end

local function show(id, entry, owner)
  local job = classify(keys, id, entry, owner)
  if state ~= '' and job[2] ~= state or wanted ~= '' and job[5] ~= wanted then return end
  jobs[#jobs + 1] = job
end

-- True at the end.
local function list_pending()
  local from = last == '' and '-' or '(' .. last
  local pending = pending_jobs(JOBS, from, newest, LOOKED_AT, state == 'parked' and PARKED_OWNER or nil)
  for _, held in ipairs(pending) do
    local id, owner = held[1], held[2]
    if (owner == PARKED_OWNER) == (state == 'parked') then
      if is_full() then return false end
      local found = redis.call('XRANGE', JOBS, id, id)[1]
      if found then
        count_read(found[2])
        show(id, found[2], owner)
      end
    end
    last = id
  end
  return #pending < LOOKED_AT
end

-- True at the end.
local function list_entries()
  for _ = 1, LOOKED_AT do
    if is_full() then return false end
    local found = first_entry(JOBS, last ~= '' and '(' .. last or '-', newest)
    if not found then return true end
    last = found[1]
    count_read(found[2])
    show(last, found[2], owner_of(JOBS, last))
  end
  return false
end

-- True at the end.
local function list_waiting()
  local shown, is_all = 0, nil
  last, is_all = each_waiting(JOBS, keys.parked, last, newest, function()
    return shown < LOOKED_AT and not is_full()
  end, function(id, entry)
    shown = shown + 1
    show(id, entry, owner_of(JOBS, id))
  end)
  return is_all
end

local list = { parked = list_pending, in_flight = list_pending, waiting = list_waiting }
local ended = (list[state] or list_entries)()
return { bytes_read - before, ended and '' or last, unpack(jobs) }
