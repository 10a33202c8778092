-- Computes the latest admission time of jobs that match a filter (job_filter.rs).
-- needs: now

-- In ms; math.huge if all match. `age_ms`: the minimum ms since the admission, `until_ms`: its latest time; '' for all.
local function newest_of(age_ms, until_ms)
  local newest = until_ms == '' and math.huge or tonumber(until_ms)
  return age_ms == '' and newest or math.min(newest, math.max(0, now_ms - tonumber(age_ms)))
end
