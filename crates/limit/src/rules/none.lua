-- In place of the rules, for scripts whose plans are all empty: nothing is limited, so there is nothing to decide and
-- nothing to wait for.
local function limit_check() end

local function limit_charge() end

local function limit_report() end

local function limit_states() end

local function limit_spend() end

local function limit_flush() end

local function limit_state() end

local function limit_present() end

local function limit_room()
  return math.huge, 0, math.huge, false
end

local function limit_look()
  return { buckets = {}, windows = {}, ahead = 0 }
end

local function limit_passing()
  return 0
end
