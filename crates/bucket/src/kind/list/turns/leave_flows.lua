-- List kind: all wait in one line, and nobody is throttled alone.
local function leave_flows() end
