-- Functions to settle with dead letters, a throttle, an adaptive rate, limits per caller, or jobs that Redis has lost.
-- needs: bury, counts, throttle, adapt, kind/entry, kind/leave_flows

local function read_letter(keys, job, outcome, reason, attempt)
  check_letters(keys)
  return letter_of(job, entry_of(keys.jobs, job), outcome, reason, attempt)
end

-- Nothing is counted any more for completed jobs that don't exist, so their bytes and places must not be subtracted.
-- `absent`: their places among the completed jobs; `sizes`: the bytes of each completed job; `first`, `last`: where
-- the callers are in ARGV. Returns the bytes of the absent jobs.
local function keep_absent(absent, sizes, first, last)
  local OF_CALLER = 3
  local bytes_of, caller_of_job, bytes = {}, {}, 0
  for size in string.gmatch(sizes, '%d+') do bytes_of[#bytes_of + 1] = tonumber(size) end
  local place = #bytes_of
  for i = last - OF_CALLER + 1, first, -OF_CALLER do
    for _ = 1, tonumber(ARGV[i + 1]) do
      caller_of_job[place], place = ARGV[i], place - 1
    end
  end
  for _, at in ipairs(absent) do
    bytes = bytes + bytes_of[at]
    count_held(caller_of_job[at], 1, bytes_of[at])
  end
  return bytes
end

return {
  keep_absent = keep_absent, read_letter = read_letter, add_letter = add_letter, bury_or_keep = bury_or_keep,
  throttle = throttle, adapt = adapt, leave_flows = leave_flows,
}
