-- Up to when jobs were accepted that match a filter (job_filter.rs).
-- needs: now

-- In ms; math.huge: all match. `age_ms`: ms since the admission at least, `until_ms`: the latest time; '' for all.
local function newest_of(age_ms, until_ms)
  local newest = until_ms == '' and math.huge or tonumber(until_ms)
  return age_ms == '' and newest or math.min(newest, math.max(0, now_ms - tonumber(age_ms)))
end
